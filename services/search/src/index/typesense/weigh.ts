import { damping, rarity, saturated } from '../../domain/bm25.js';
import type { Pattern, Patterns } from '../../domain/pattern.js';
import { NAME_WEIGHT, scoreOf } from '../../domain/score.js';
import type { Field } from '../port.js';
import type { Document } from './client.js';
import { occurrences } from './match.js';

/** What a search looks for. */
export interface Sought {
  readonly groups: readonly Patterns[];
  readonly boosts: readonly Patterns[];
  readonly fields: readonly Field[];
}

/** How many entries there are to find, and of them those that meet each group. */
export interface Counts {
  readonly entries: number;
  readonly groups: readonly number[];
}

export interface Weighed {
  readonly document: Document;
  readonly score: number;
}

/** How much less an uncertain form of a word counts. */
const OTHER_FORM = 0.5;

/** The documents that meet a group, best first. Typesense does not rank by how rare a word is, nor by length. */
export function weigh(documents: readonly Document[], sought: Sought, counts: Counts): Weighed[] {
  const texts = documents.map((document) => ({
    name: ` ${document.name_terms ?? ''} `,
    text: ` ${document.text_terms ?? ''} `,
    comments: ` ${document.comments_terms ?? ''} `,
  }));
  const lengths = texts.map(({ name, text }) => spaces(name) + spaces(text));
  const usual = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, lengths.length);
  const frequency = (patterns: Patterns): number[] =>
    texts.map((text) =>
      sought.fields.reduce((sum, field) => {
        return sum + (field === 'name' ? NAME_WEIGHT : 1) * timesMet(patterns, text[field]);
      }, 0),
    );
  const groups = sought.groups.map(frequency);
  const boosts = sought.boosts.map(frequency);
  const rarities = [
    ...counts.groups.map((count) => rarity(counts.entries, count)),
    ...boosts.map((times) => rarity(counts.entries, times.filter((time) => time > 0).length)),
  ];
  const weighed = documents.flatMap((document, i) => {
    const met = groups.filter((times) => (times[i] as number) > 0).length;
    if (met === 0) return [];
    const against = damping(lengths[i] as number, usual);
    const weight = [...groups, ...boosts].reduce(
      (sum, times, group) => sum + (rarities[group] as number) * saturated(times[i] as number, against),
      0,
    );
    return [{ document, all: met === groups.length, weight }];
  });
  weighed.sort((a, b) => Number(b.all) - Number(a.all) || b.weight - a.weight || byId(a.document, b.document));
  return weighed.map(({ document, all, weight }) => ({ document, score: scoreOf(weight, all) }));
}

function byId(a: Document, b: Document): number {
  return a.id < b.id ? -1 : 1;
}

/** How often a group is met; the first of its patterns is the words as they stand. */
function timesMet(patterns: Patterns, tokens: string): number {
  const [asWritten, ...others] = patterns as [Pattern, ...Pattern[]];
  const exact = occurrences(asWritten, tokens);
  if (others.length === 0) return exact;
  const last = asWritten.terms.at(-1) as string;
  const rest = others.reduce((sum, pattern) => {
    const again = pattern.prefix && last.startsWith(pattern.terms.at(-1) as string);
    return sum + occurrences(pattern, tokens) - (again ? exact : 0);
  }, 0);
  return exact + OTHER_FORM * Math.max(0, rest);
}

function spaces(text: string): number {
  let count = 0;
  for (let at = text.indexOf(' '); at >= 0; at = text.indexOf(' ', at + 1)) count++;
  return count;
}
