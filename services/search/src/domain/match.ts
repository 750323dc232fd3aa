import { emptyToken, Kind, kindAt, nextToken, type Token } from '@commonplace/kit/analysis';
import type { Pattern, Patterns } from './pattern.js';

/** Describes where a group matches; offsets are units of the folded text. */
export interface Match {
  readonly start: number;
  readonly end: number;
  /** Index of the group. */
  readonly group: number;
}

/** Matches per group that are searched from the beginning, and candidates that are examined. */
const MAX_FIRST_MATCHES = 8;
const MAX_CANDIDATES = 300;
/** Units around a match of one group within which other groups are searched. */
const NEAR_UNITS = 160;
/** Units of a text that are read word by word when the fast search found nothing. */
const MAX_READ_UNITS = 20_000;

/**
 * Returns the matches of groups in a folded text, sorted: the first ones of each group, and for frequent groups also
 * those near matches of the others.
 */
export function findMatches(text: string, groups: readonly Patterns[]): Match[] {
  const matches: Match[] = [];
  const frequent: number[] = [];
  const roots = groups.map(rootsOf);
  roots.forEach((ofGroup, group) => {
    const before = matches.length;
    for (const root of ofGroup) matchRoot(text, root, group, 0, text.length, matches);
    if (matches.length - before >= MAX_FIRST_MATCHES) frequent.push(group);
  });
  if (frequent.length > 0 && groups.length > 1) {
    for (const match of matches.filter(({ group }) => !frequent.includes(group))) {
      for (const group of frequent) {
        for (const root of roots[group] ?? []) {
          matchRoot(text, root, group, Math.max(0, match.start - NEAR_UNITS), match.end + NEAR_UNITS, matches);
        }
      }
    }
  }
  return matches.sort((a, b) => a.start - b.start || b.end - a.end);
}

/** Finds matches word by word, including words that do not begin with their stem. */
export function readMatches(text: string, groups: readonly Patterns[]): Match[] {
  const matches: Match[] = [];
  const token = emptyToken();
  for (
    let at = 0;
    at < MAX_READ_UNITS && nextToken(text, at, token) && matches.length < MAX_FIRST_MATCHES;
    at = token.next
  ) {
    groups.forEach((patterns, group) => {
      const end = endOf(text, token.start, patterns);
      if (end > 0) matches.push({ start: token.start, end, group });
    });
  }
  return matches;
}

interface Root {
  readonly root: string;
  readonly members: Pattern[];
}

/** Returns the common beginnings of the patterns' first words, each with its patterns. */
function rootsOf(patterns: Patterns): Root[] {
  const roots: Root[] = [];
  const sorted = patterns.map((pattern) => ({ root: rootOf(pattern), pattern }));
  sorted.sort((a, b) => a.root.length - b.root.length);
  for (const { root, pattern } of sorted) {
    const shorter = roots.find((other) => root.startsWith(other.root));
    if (shorter === undefined) roots.push({ root, members: [pattern] });
    else shorter.members.push(pattern);
  }
  return roots;
}

/**
 * Returns the beginning that all words of a stem share: the stem without a last letter that stemming may have changed
 * or added, as in `polici`, `hope`.
 */
function rootOf(pattern: Pattern): string {
  const [first = ''] = pattern.terms;
  return first.length > 2 && /[ei]$/.test(first) ? first.slice(0, -1) : first;
}

function matchRoot(
  text: string,
  { root, members }: Root,
  group: number,
  from: number,
  to: number,
  into: Match[],
): void {
  const isWord = kindAt(root, 0) === Kind.WORD;
  let left = MAX_FIRST_MATCHES;
  let looks = MAX_CANDIDATES;
  for (
    let at = text.indexOf(root, from);
    at >= 0 && at < to && left > 0 && looks > 0;
    at = text.indexOf(root, at + 1)
  ) {
    if (isWord && insideWord(text, at)) continue;
    looks--;
    const end = endOf(text, at, members);
    if (end < 0) continue;
    into.push({ start: at, end, group });
    left--;
  }
}

function insideWord(text: string, at: number): boolean {
  if (at === 0) return false;
  const kind = kindAt(text, at - 1);
  return kind === Kind.WORD || (kind === Kind.JOINER && at > 1 && kindAt(text, at - 2) === Kind.WORD);
}

/** Returns the end of the longest pattern that matches at an offset, or -1. */
function endOf(text: string, at: number, patterns: Patterns): number {
  let furthest = -1;
  for (const pattern of patterns) furthest = Math.max(furthest, patternEnd(text, at, pattern));
  return furthest;
}

const scratch: Token = emptyToken();

function patternEnd(text: string, start: number, { terms, prefix }: Pattern): number {
  let at = start;
  for (let i = 0; i < terms.length; i++) {
    if (!nextToken(text, at, scratch)) return -1;
    const term = terms[i] as string;
    const open = prefix && i === terms.length - 1;
    if (scratch.term !== term && !(open && begins(scratch, term))) return -1;
    at = scratch.next;
  }
  // A single character may match the beginning of a bigram; only the character itself is part of the match.
  const last = terms.at(-1) as string;
  return scratch.gram && prefix ? scratch.start + last.length : scratch.end;
}

function begins(token: Token, beginning: string): boolean {
  return token.surface.startsWith(beginning) || token.term.startsWith(beginning);
}
