import { emptyToken, kindAt, nextToken, type Token } from './analysis.js';
import { Kind } from './characters.js';
import { fold } from './fold.js';
import { isStopWord } from './stem.js';

/** More terms than anybody means; the rest of a query is not looked at. */
export const MAX_GROUPS = 32;

/** One thing sought: a word, or terms that must follow each other. */
export interface Group {
  readonly terms: readonly string[];
  /** The last word as it was written, folded; for prefixes and typos. */
  readonly surface: string;
  /** The last term may be the beginning of one. */
  readonly prefix: boolean;
  /** A single word that was not quoted: it may hold a typo. */
  readonly correctable: boolean;
}

/** What a query asks for. */
export interface QueryPlan {
  /** A document that has all of these stands above one that has some. */
  readonly groups: readonly Group[];
  /** Raise what they match, and are asked of nobody. */
  readonly boosts: readonly Group[];
  readonly excluded: readonly Group[];
  /** The quoted ones among the groups: what is found otherwise than by its words has to have them too. */
  readonly phrases: readonly Group[];
  /** What is sought as it was written, without operators and what is left out. */
  readonly words: string;
  /** Values of `type:` and `-type:`, lower case. */
  readonly types: readonly string[];
  readonly excludedTypes: readonly string[];
  /** Values of `tag:` and `-tag:`, as they were written. */
  readonly tags: readonly string[];
  readonly excludedTags: readonly string[];
}

/** A query that asks for nothing. */
export const WITHOUT_WORDS: QueryPlan = {
  groups: [],
  boosts: [],
  excluded: [],
  phrases: [],
  words: '',
  types: [],
  excludedTypes: [],
  tags: [],
  excludedTags: [],
};

/** The values that `type:` takes; with others it is a plain word. */
export const QUERY_TYPES = ['document', 'table', 'artifact', 'folder', 'file'] as const;

interface Chunk {
  readonly text: string;
  readonly negative: boolean;
  readonly quoted: boolean;
  /** Stands at the very end, so that it may not be complete yet. */
  readonly open: boolean;
}

/**
 * Reads the query language: words, `"phrases"`, `-not`, `type:` and `tag:`. No text is an error;
 * what is not understood is sought as words.
 */
export function parseQuery(query: string): QueryPlan {
  const plan = {
    groups: [] as Group[],
    boosts: [] as Group[],
    excluded: [] as Group[],
    phrases: [] as Group[],
    words: '',
    types: [] as string[],
    excludedTypes: [] as string[],
    tags: [] as string[],
    excludedTags: [] as string[],
  };
  const words: Group[] = [];
  const written: string[] = [];
  for (const chunk of chunksOf(query)) {
    const type = operand(chunk, 'type')?.toLowerCase();
    const tag = operand(chunk, 'tag');
    if (type !== undefined && (QUERY_TYPES as readonly string[]).includes(type)) {
      (chunk.negative ? plan.excludedTypes : plan.types).push(type);
    } else if (tag) {
      (chunk.negative ? plan.excludedTags : plan.tags).push(tag);
    } else if (chunk.negative) {
      plan.excluded.push(...phraseOf(chunk));
    } else {
      const groups = groupsOf(chunk);
      words.push(...groups);
      written.push(chunk.text);
      if (chunk.quoted) plan.phrases.push(...groups);
      if (groups.length > 1) plan.boosts.push(...phraseOf(chunk));
    }
  }
  plan.groups = withoutRepeats(withoutStopWords(words)).slice(0, MAX_GROUPS);
  if (plan.groups.length > 1) plan.groups = plan.groups.map(closeLetter);
  plan.boosts = plan.boosts.slice(0, MAX_GROUPS);
  plan.excluded = plan.excluded.slice(0, MAX_GROUPS);
  plan.phrases = plan.phrases.slice(0, MAX_GROUPS);
  plan.words = written.join(' ').trim();
  return plan;
}

const CHUNK = /(-?)(?:(type|tag):)?(?:"([^"]*)("|$)|(\S+))/giu;

function* chunksOf(query: string): Generator<Chunk> {
  const plain = query.replace(/[\u201c\u201d\u201e\u300c\u300d\uff02]/g, '"');
  for (const match of plain.matchAll(CHUNK)) {
    const [whole, minus, operator, quoted, , bare] = match;
    const text = quoted ?? bare ?? '';
    yield {
      text: operator === undefined ? text : `${operator.toLowerCase()}:${text}`,
      negative: minus === '-',
      quoted: quoted !== undefined,
      open: quoted === undefined && match.index + whole.length === plain.length,
    };
  }
}

/** What follows an operator, if the chunk is one. */
function operand(chunk: Chunk, operator: string): string | undefined {
  return chunk.text.startsWith(`${operator}:`) ? chunk.text.slice(operator.length + 1) : undefined;
}

/** The whole chunk as one phrase; empty where it holds no term. */
function phraseOf(chunk: Chunk): Group[] {
  const folded = fold(chunk.text).text;
  const group = phrase(folded, 0, folded.length, chunk);
  return group === undefined ? [] : [group];
}

/**
 * The groups of a chunk: one phrase where it is quoted or written with spaces between words, and
 * the words that a dictionary finds in it where it is not.
 */
function groupsOf(chunk: Chunk): Group[] {
  const folded = fold(chunk.text).text;
  if (chunk.quoted || !hasLongRun(folded)) return phraseOf(chunk);
  const groups: Group[] = [];
  for (const { segment, index, isWordLike } of segmenter.segment(folded)) {
    if (!isWordLike) continue;
    const group = phrase(folded, index, index + segment.length, chunk);
    if (group !== undefined) groups.push(group);
  }
  const telling = groups.filter((group) => group.terms.length > 1 || (group.terms[0] as string).length > 1);
  return telling.length > 0 ? telling : phraseOf(chunk);
}

const segmenter = new Intl.Segmenter(undefined, { granularity: 'word' });

/** Three characters in a row or more of a script without spaces between words. */
function hasLongRun(folded: string): boolean {
  let run = 0;
  for (let at = 0; at < folded.length; at++) {
    run = kindAt(folded, at) === Kind.GRAM ? run + 1 : 0;
    if (run === 3) return true;
  }
  return false;
}

/** The terms of a range of folded text, in order, as one group. */
function phrase(folded: string, start: number, end: number, chunk: Chunk): Group | undefined {
  const range = folded.slice(start, end);
  const tokens: Token[] = [];
  let at = 0;
  for (let token = emptyToken(); nextToken(range, at, token); token = emptyToken()) {
    at = token.next;
    tokens.push(token);
  }
  const last = tokens.at(-1);
  if (last === undefined) return undefined;
  const before = tokens.at(-2);
  // The last character of a run ends a bigram already; alone it would ask that the run end there.
  if (last.gram && before?.gram && before.end === last.end) tokens.pop();
  const open = chunk.open && !chunk.negative && start + last.end === folded.length;
  return {
    terms: tokens.map((token) => token.term),
    surface: last.surface,
    // A single character begins the bigrams that it stands in.
    prefix: last.gram ? tokens.at(-1) === last : open,
    correctable: tokens.length === 1 && !last.gram && !chunk.quoted && !chunk.negative,
  };
}

/** Leaves out what says nothing, unless that is all there is. */
function withoutStopWords(groups: Group[]): Group[] {
  const telling = groups.filter((group) => !(group.correctable && isStopWord(group.surface)));
  return telling.length > 0 ? telling : groups;
}

/** Beside other words a single letter means itself: `vitamin c`. */
function closeLetter(group: Group): Group {
  return group.prefix && group.correctable && group.surface.length === 1 ? { ...group, prefix: false } : group;
}

function withoutRepeats(groups: Group[]): Group[] {
  const kept = new Map<string, Group>();
  for (const group of groups) {
    const key = group.terms.join(' ');
    if (!kept.has(key) || group.prefix) kept.set(key, group);
  }
  return [...kept.values()];
}

/** Whether a query without words asks for something all the same: a type, a tag, or what is not there. */
export function asksWithoutWords(plan: QueryPlan): boolean {
  const { excluded, types, excludedTypes, tags, excludedTags } = plan;
  return [excluded, types, excludedTypes, tags, excludedTags].some((terms) => terms.length > 0);
}
