import { damping, rarity, saturated } from '../../domain/bm25.js';
import type { Field } from '../../domain/narrowing.js';
import type { Patterns } from '../../domain/pattern.js';
import type { GroupPatterns } from '../../domain/query.js';
import { NAME_TIMES, OTHER_FORM, scoreOf } from '../../domain/score.js';
import type { Document } from './client.js';
import { occurrences } from './match.js';

/** Holds what a search looks for. */
export interface SearchPatterns {
  readonly groups: readonly GroupPatterns[];
  readonly boosts: readonly Patterns[];
  readonly fields: readonly Field[];
  /** Whether an entry needs all groups. */
  readonly every: boolean;
}

/** Holds the number of admitted entries, and of those of them that match each group, as it is written or in any form. */
export interface Counts {
  readonly entries: number;
  readonly written: readonly number[];
  readonly groups: readonly number[];
}

export interface WeighedHit {
  readonly document: Document;
  readonly score: number;
}

/** Returns the documents that match a group, best first. Typesense itself ranks neither by rarity nor by length. */
export function weigh(documents: readonly Document[], sought: SearchPatterns, counts: Counts): WeighedHit[] {
  const texts = documents.map((document) => ({
    name: ` ${document.name_terms ?? ''} `,
    text: ` ${document.text_terms ?? ''} `,
    comments: ` ${document.comments_terms ?? ''} `,
  }));
  const lengths = texts.map(({ name, text }) => NAME_TIMES * words(name) + words(text));
  const usual = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, lengths.length);
  const frequency = (patterns: Patterns): number[] =>
    texts.map((text) =>
      sought.fields.reduce((sum, field) => {
        return sum + (field === 'name' ? NAME_TIMES : 1) * timesMet(patterns, text[field]);
      }, 0),
    );
  const groups = sought.groups.map(({ patterns }) => frequency(patterns));
  // Words that begin with a word do not make it more common if it occurs as written.
  const having = sought.groups.map(({ patterns }, i) => {
    const written = (counts.written[i] as number) > 0;
    return written && patterns.length > 1 ? frequency(patterns.slice(0, 1)) : (groups[i] as number[]);
  });
  const boosts = sought.boosts.map(frequency);
  const factors = [
    ...counts.groups.map(
      (count, i) => (sought.groups[i]?.times ?? 1) * rarity(counts.entries, counts.written[i] || count),
    ),
    ...boosts.map((times) => rarity(counts.entries, times.filter((time) => time > 0).length)),
  ];
  const weighed = documents.flatMap((document, i) => {
    const met = groups.filter((times) => (times[i] as number) > 0).length;
    if (met < (sought.every ? groups.length : 1)) return [];
    const all = having.every((times) => (times[i] as number) > 0);
    const against = damping(lengths[i] as number, usual);
    const weight = [...groups, ...boosts].reduce(
      (sum, times, group) => sum + (factors[group] as number) * saturated(times[i] as number, against),
      0,
    );
    return [{ document, all, weight }];
  });
  weighed.sort((a, b) => Number(b.all) - Number(a.all) || b.weight - a.weight || byId(a.document, b.document));
  return weighed.map(({ document, all, weight }) => ({ document, score: scoreOf(weight, all) }));
}

function byId(a: Document, b: Document): number {
  return a.id < b.id ? -1 : 1;
}

/** Returns the frequency of a group: that of its words as they are written, or the share of another form. */
function timesMet([asWritten, ...others]: Patterns, tokens: string): number {
  if (asWritten === undefined) return 0;
  const times = others.map((pattern) => OTHER_FORM * occurrences(pattern, tokens));
  return Math.max(occurrences(asWritten, tokens), ...times);
}

/** Counts the tokens in a text with a space before and after each. */
function words(text: string): number {
  let count = -1;
  for (let at = text.indexOf(' '); at >= 0; at = text.indexOf(' ', at + 1)) count++;
  return Math.max(0, count);
}
