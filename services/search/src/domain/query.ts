import {
  emptyToken,
  fold,
  isParticle,
  isStopWord,
  Kind,
  kindAt,
  nextToken,
  type Token,
} from '@commonplace/kit/analysis';
import type { Patterns } from './pattern.js';

/** Groups beyond which the rest of a query is ignored. */
const MAX_GROUPS = 64;

/**
 * Words from which a query counts as a question in prose. There the words of `low-carb` are looked up one by one, and
 * particles (_off_ in _time off_) tell nothing.
 */
const QUESTION_WORDS = 5;

/** Describes one search term: a word, or terms that must follow each other. */
export interface Group {
  readonly terms: readonly string[];
  /** The last word as it was written, folded; used for prefixes and typos. */
  readonly surface: string;
  /** Whether the last term may be a prefix. */
  readonly prefix: boolean;
  /** Whether it is a single unquoted word, which may contain a typo. */
  readonly correctable: boolean;
  /**
   * Whether it is one unquoted word of several terms, such as `low-carb` or `U.S.`. Characters of a script without
   * spaces are none.
   */
  readonly compound: boolean;
  /** Number of its occurrences in the query, by which its weight is multiplied. */
  readonly times: number;
}

/** The forms of a group that are looked up. */
export interface GroupPatterns {
  /** Its words as they are, then their other forms. */
  readonly patterns: Patterns;
  readonly times: number;
}

/** Holds a parsed query. */
export interface QueryPlan {
  /** Documents that match all of these rank above those that match some. */
  readonly groups: readonly Group[];
  /** Raise the score of documents that they match, but are not required. */
  readonly boosts: readonly Group[];
  readonly excluded: readonly Group[];
  /** The quoted groups of several terms, which results of semantic search must contain too. */
  readonly phrases: readonly Group[];
  /** The searched text as it was written, without operators and exclusions. */
  readonly words: string;
  /** Values of `type:` and `-type:`, lower case. */
  readonly types: readonly string[];
  readonly excludedTypes: readonly string[];
  /** Values of `tag:` and `-tag:`, as they were written. */
  readonly tags: readonly string[];
  readonly excludedTags: readonly string[];
}

/** A plan of an empty query. */
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

/** Values that `type:` accepts; with any other value it is a plain word. */
export const QUERY_TYPES = ['document', 'table', 'artifact', 'folder', 'file'] as const;

interface Chunk {
  readonly text: string;
  readonly negative: boolean;
  readonly quoted: boolean;
  /** Whether it is at the very end of the query, so that it may be incomplete. */
  readonly open: boolean;
}

/**
 * Parses the query language: words, `"phrases"`, `-not`, `type:` and `tag:`. It accepts any text; what it does not
 * understand becomes words.
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
      if (chunk.quoted) plan.phrases.push(...groups.filter(({ terms }) => terms.length > 1));
      plan.boosts.push(...phraseOf(chunk).filter((whole) => groups.length > 1 || isLonger(whole, groups[0])));
    }
  }
  const significant = withoutStopWords(words);
  const groups = significant.length < QUESTION_WORDS ? significant : questionOf(significant);
  plan.groups = withoutRepeats(groups).slice(0, MAX_GROUPS);
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

/** Returns the value of an operator if the chunk is one. */
function operand(chunk: Chunk, operator: string): string | undefined {
  return chunk.text.startsWith(`${operator}:`) ? chunk.text.slice(operator.length + 1) : undefined;
}

/** Returns whether a phrase has terms that its only word lacks: characters beside it, as in `東京都`, read as 東 and 京都. */
const isLonger = (phrase: Group, word: Group | undefined): boolean => phrase.terms.length > (word?.terms.length ?? 0);

/** Returns the whole chunk as one phrase; empty when it contains no term. */
function phraseOf(chunk: Chunk): Group[] {
  const folded = fold(chunk.text).text;
  return phrase(folded, 0, folded.length, chunk);
}

/** What lies between the commas and semicolons of an enumeration, whose CJK forms are folded to spaces; `1,000` is one number. */
const ENUMERATED = /(?:[^,;\s]|(?<=\d),(?=\d))+/gu;

/**
 * Returns the groups of a chunk: one phrase if it is quoted, otherwise those of each part of an enumeration such as
 * `red,green`.
 */
function groupsOf(chunk: Chunk): Group[] {
  if (chunk.quoted) return phraseOf(chunk);
  const folded = fold(chunk.text).text;
  return [...folded.matchAll(ENUMERATED)].flatMap(({ 0: part, index }) =>
    groupsIn(folded, index, index + part.length, chunk),
  );
}

/**
 * Returns the groups of a range of folded text: one phrase if its script puts spaces between words, otherwise the words
 * that a dictionary finds in it.
 */
function groupsIn(folded: string, start: number, end: number, chunk: Chunk): Group[] {
  const range = folded.slice(start, end);
  if (!hasLongRun(range)) return phrase(folded, start, end, chunk);
  const groups = [...segmenter.segment(range)]
    .filter(({ isWordLike }) => isWordLike)
    .flatMap(({ segment, index }) => phrase(folded, start + index, start + index + segment.length, chunk));
  const significant = groups.filter((group) => group.terms.length > 1 || (group.terms[0] as string).length > 1);
  return significant.length > 0 ? significant : phrase(folded, start, end, chunk);
}

const segmenter = new Intl.Segmenter(undefined, { granularity: 'word' });

/** Checks for three or more consecutive characters of a script without spaces between words. */
function hasLongRun(folded: string): boolean {
  let run = 0;
  for (let at = 0; at < folded.length; at++) {
    run = kindAt(folded, at) === Kind.GRAM ? run + 1 : 0;
    if (run === 3) return true;
  }
  return false;
}

/** Returns the terms of a range of folded text, in order, as one group; none if it contains no term. */
function phrase(folded: string, start: number, end: number, chunk: Chunk): Group[] {
  const range = folded.slice(start, end);
  const tokens: Token[] = [];
  let at = 0;
  for (let token = emptyToken(); nextToken(range, at, token); token = emptyToken()) {
    at = token.next;
    tokens.push(token);
  }
  const last = tokens.at(-1);
  if (last === undefined) return [];
  const before = tokens.at(-2);
  // The last character of a run is part of a bigram already; as a term of its own it would require the run to end
  // there.
  if (last.gram && before?.gram && before.end === last.end) tokens.pop();
  const open = chunk.open && !chunk.negative && start + last.end === folded.length;
  const group = {
    terms: tokens.map((token) => token.term),
    surface: last.surface,
    // A single character matches the bigrams that it begins.
    prefix: last.gram ? tokens.at(-1) === last : open,
    correctable: tokens.length === 1 && !last.gram && !chunk.quoted && !chunk.negative,
    compound: tokens.length > 1 && !chunk.quoted && !chunk.negative && !tokens.some(({ gram }) => gram),
    times: 1,
  };
  return [group];
}

/** Removes stop words, unless there is nothing else. */
function withoutStopWords(groups: Group[]): Group[] {
  const significant = groups.filter((group) => !(group.correctable && isStopWord(group.surface)));
  return significant.length > 0 ? significant : groups;
}

/** Returns the groups of a question: without particles, if enough remains, and with the words of compounds by themselves. */
function questionOf(significant: readonly Group[]): Group[] {
  const bare = significant.filter((group) => !(group.correctable && isParticle(group.surface)));
  return (bare.length < QUESTION_WORDS ? significant : bare).flatMap((group) =>
    group.compound ? wordsOf(group) : [group],
  );
}

/** Returns the words of a compound as groups. */
const wordsOf = ({ terms, surface, prefix }: Group): Group[] =>
  terms.map((term, i) => {
    const last = i === terms.length - 1;
    const ends = { surface: last ? surface : term, prefix: last && prefix };
    return { terms: [term], ...ends, correctable: true, compound: false, times: 1 };
  });

/** Treats a single letter beside other words as a word and not as a prefix: `vitamin c`. */
function closeLetter(group: Group): Group {
  return group.prefix && group.correctable && group.surface.length === 1 ? { ...group, prefix: false } : group;
}

/** Returns each group once. */
function withoutRepeats(groups: Group[]): Group[] {
  const kept = new Map<string, Group>();
  for (const group of groups) {
    const key = group.terms.join(' ');
    const before = kept.get(key);
    kept.set(key, { ...(before === undefined || group.prefix ? group : before), times: (before?.times ?? 0) + 1 });
  }
  return [...kept.values()];
}

/** Returns whether a query without words still has a condition: a type, a tag, or an exclusion. */
export function asksWithoutWords(plan: QueryPlan): boolean {
  const { excluded, types, excludedTypes, tags, excludedTags } = plan;
  return [excluded, types, excludedTypes, tags, excludedTags].some((terms) => terms.length > 0);
}
