import type { Field } from '../../domain/narrowing.js';
import type { Pattern, Patterns } from '../../domain/pattern.js';
import { MAX_PREFIX_CHARS } from './document.js';
import { among, both, either, type Filter, isTooLong } from './filter.js';
import { pairToken, prefixToken, type Token, termToken } from './tokens.js';

/**
 * Returns a filter for entries that match a group in any of the fields. It may admit a few more, which `weigh` removes.
 */
export function meets(patterns: Patterns, fields: readonly Field[]): Filter {
  return either(
    ...fields.flatMap((field) => {
      const terms = patterns.filter(isTerm).map(({ terms: [term] }) => termToken(term as string));
      const others = patterns.filter((pattern) => !isTerm(pattern)).map((pattern) => partsMet(pattern, field));
      return terms.length === 0 ? others : [among(`${field}_terms`, terms), ...others];
    }),
  );
}

/**
 * Returns a filter for entries that match any of the groups. If it would be too long, it admits entries that match a
 * part of one.
 */
export function meetsAny(groups: readonly Patterns[], fields: readonly Field[]): Filter {
  const terms = groups.flatMap((patterns) => patterns.filter(isTerm));
  const others = groups.flatMap((patterns) => patterns.filter((pattern) => !isTerm(pattern)));
  const exact = meets([...terms, ...others], fields);
  if (!isTooLong(exact)) return exact;
  const tokens = terms.map(({ terms: [term] }) => termToken(term as string));
  const parts = others.map((pattern) => partsOf(pattern)[0] as Token);
  return either(
    ...fields.flatMap((field) => [
      ...(tokens.length > 0 ? [among(`${field}_terms`, tokens)] : []),
      ...(parts.length > 0 ? [among(`${field}_parts`, parts)] : []),
    ]),
  );
}

/**
 * Returns a filter for entries that match all groups, without commas so that it can be used for sorting; undefined when
 * it would be too long.
 */
export function meetsAll(groups: readonly Patterns[], fields: readonly Field[]): Filter | undefined {
  const each = groups.map((patterns) => either(...patterns.map((pattern) => meets([pattern], fields))));
  const filter = both(...each);
  return isTooLong(filter) ? undefined : filter;
}

/**
 * Returns a filter for entries that match any of the groups, in a form for sorting; undefined when it would be too
 * long.
 */
export function meetsOne(groups: readonly Patterns[], fields: readonly Field[]): Filter | undefined {
  const filter = either(...groups.flatMap((patterns) => patterns.map((pattern) => meets([pattern], fields))));
  return isTooLong(filter) ? undefined : filter;
}

function isTerm({ terms, prefix }: Pattern): boolean {
  return terms.length === 1 && !prefix;
}

/** Parts of a phrase that are looked up; `weigh` checks the rest in the results. */
const MAX_PAIRS = 8;

/** Returns the parts that an entry with a phrase or prefix must contain; there is at least one. */
function partsOf({ terms, prefix }: Pattern): Token[] {
  const tokens = terms.map(termToken);
  const parts = new Set<Token>();
  if (prefix) parts.add(prefixToken([...(terms.at(-1) as string)].slice(0, MAX_PREFIX_CHARS).join('')));
  const whole = prefix ? tokens.slice(0, -1) : tokens;
  for (let i = 1; i < whole.length && parts.size < MAX_PAIRS; i++) {
    parts.add(pairToken(whole[i - 1] as Token, whole[i] as Token));
  }
  return [...parts];
}

function partsMet(pattern: Pattern, field: Field): Filter {
  const filters = partsOf(pattern).map((part) => among(`${field}_parts`, [part]));
  const [first, ...more] = pattern.terms;
  // A prefix after a single word forms no pair with it, so the word is required separately.
  if (pattern.prefix && more.length === 1) filters.push(among(`${field}_terms`, [termToken(first as string)]));
  return both(...filters);
}

/** Returns the exclusions in the syntax of Typesense's query: words and phrases of tokens with a minus. */
export function excluding(excluded: readonly Patterns[]): string {
  const open = openPhrases(excluded);
  const phrases = excluded.flat().filter((pattern) => !open.includes(pattern));
  return phrases.length === 0 ? '*' : phrases.map((pattern) => `-${excludedPhrase(pattern)}`).join(' ');
}

function excludedPhrase({ terms, prefix }: Pattern): string {
  const [term = ''] = terms;
  if (prefix) return prefixToken(term);
  return terms.length === 1 ? termToken(term) : `"${terms.map(termToken).join(' ')}"`;
}

/** Returns the excluded patterns that end with a prefix which Typesense can't look up in place. */
export function openPhrases(excluded: readonly Patterns[]): Pattern[] {
  const isShort = (term: string): boolean => [...term].length <= MAX_PREFIX_CHARS;
  return excluded.flat().filter(({ terms, prefix }) => prefix && !(terms.length === 1 && isShort(terms[0] as string)));
}

/** Counts the occurrences of a pattern in a field, whose tokens have a space before and after each. */
export function occurrences(pattern: Pattern, tokens: string): number {
  const sought = ` ${pattern.terms.map(termToken).join(' ')}${pattern.prefix ? '' : ' '}`;
  // The space after one occurrence is that before the next.
  const step = pattern.prefix ? sought.length : sought.length - 1;
  let count = 0;
  for (let at = tokens.indexOf(sought); at >= 0; at = tokens.indexOf(sought, at + step)) count++;
  return count;
}
