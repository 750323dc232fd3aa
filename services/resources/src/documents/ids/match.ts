import { type Entry, wordsOf } from './entries.js';

/** A range of the new blocks and one of the old blocks; ends are exclusive. */
interface Range {
  readonly a0: number;
  readonly a1: number;
  readonly b0: number;
  readonly b1: number;
  readonly level: number;
}

const MAX_LEVEL = 8;

/**
 * Pairs new blocks with old ones: first equal blocks in the same order (patience diff), then equal blocks that have
 * moved, then edited blocks, by type and shared words, in the gaps between pairs.
 *
 * @returns for every new block the index of its old one, or -1
 */
export function matchEntries(after: readonly Entry[], before: readonly Entry[]): Int32Array {
  const pairs = new Int32Array(after.length).fill(-1);
  const taken = new Uint8Array(before.length);
  const pair = (a: number, b: number): void => {
    pairs[a] = b;
    taken[b] = 1;
  };
  const gaps = matchInOrder(after, before, pair);
  matchMoved(after, before, pairs, taken, pair);
  for (const gap of gaps) matchEdited(after, before, gap, pairs, taken, pair);
  return pairs;
}

type Pair = (a: number, b: number) => void;

function matchInOrder(after: readonly Entry[], before: readonly Entry[], pair: Pair): Range[] {
  const gaps: Range[] = [];
  const open: Range[] = [{ a0: 0, a1: after.length, b0: 0, b1: before.length, level: 0 }];
  for (let range = open.pop(); range !== undefined; range = open.pop()) {
    let { a0, a1, b0, b1 } = range;
    while (a0 < a1 && b0 < b1 && after[a0]?.hash === before[b0]?.hash) pair(a0++, b0++);
    while (a0 < a1 && b0 < b1 && after[a1 - 1]?.hash === before[b1 - 1]?.hash) pair(--a1, --b1);
    if (a0 === a1 || b0 === b1) continue;
    const rest = { a0, a1, b0, b1, level: range.level + 1 };
    const anchors = range.level < MAX_LEVEL ? anchorsOf(after, before, rest) : [];
    if (anchors.length === 0) {
      gaps.push(rest);
      continue;
    }
    for (const [a, b] of anchors) {
      pair(a, b);
      open.push({ ...rest, a0, a1: a, b0, b1: b });
      [a0, b0] = [a + 1, b + 1];
    }
    open.push({ ...rest, a0, b0 });
  }
  return gaps;
}

/** Returns the index of each hash within a range; -1 for a hash that occurs more than once. */
function unique(entries: readonly Entry[], from: number, to: number): Map<number, number> {
  const places = new Map<number, number>();
  for (let index = from; index < to; index += 1) {
    const { hash } = entries[index] as Entry;
    places.set(hash, places.has(hash) ? -1 : index);
  }
  return places;
}

/** Returns the longest sequence of blocks that occur once on each side and in the same order. */
function anchorsOf(after: readonly Entry[], before: readonly Entry[], range: Range): [number, number][] {
  const old = unique(before, range.b0, range.b1);
  const candidates: [number, number][] = [];
  for (const [hash, a] of unique(after, range.a0, range.a1)) {
    const b = old.get(hash) ?? -1;
    if (a >= 0 && b >= 0) candidates.push([a, b]);
  }
  return longestRise(candidates.sort(([a], [b]) => a - b));
}

/** Returns the longest subsequence in which the second numbers increase. */
function longestRise(pairs: readonly [number, number][]): [number, number][] {
  const ends: number[] = [];
  const previous = new Int32Array(pairs.length).fill(-1);
  pairs.forEach(([, b], index) => {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((pairs[ends[middle] as number]?.[1] ?? 0) < b) low = middle + 1;
      else high = middle;
    }
    previous[index] = low > 0 ? (ends[low - 1] as number) : -1;
    ends[low] = index;
  });
  const run: [number, number][] = [];
  for (let index = ends.at(-1) ?? -1; index >= 0; index = previous[index] as number)
    run.push(pairs[index] as [number, number]);
  return run.reverse();
}

function matchMoved(
  after: readonly Entry[],
  before: readonly Entry[],
  pairs: Int32Array,
  taken: Uint8Array,
  pair: Pair,
): void {
  const free = new Map<number, number[]>();
  for (let b = before.length - 1; b >= 0; b -= 1) {
    if (taken[b] !== 0) continue;
    const { hash } = before[b] as Entry;
    const places = free.get(hash) ?? [];
    places.push(b);
    free.set(hash, places);
  }
  after.forEach(({ hash }, a) => {
    const b = pairs[a] === -1 ? free.get(hash)?.pop() : undefined;
    if (b !== undefined) pair(a, b);
  });
}

/** Maximum number of comparisons in one gap; in larger gaps only blocks at similar positions are compared. */
const MAX_COMPARED = 4096;
const WINDOW = 16;
const MIN_LIKENESS = 0.3;

function matchEdited(
  after: readonly Entry[],
  before: readonly Entry[],
  { a0, a1, b0, b1 }: Range,
  pairs: Int32Array,
  taken: Uint8Array,
  pair: Pair,
): void {
  const free = (from: number, to: number, used: (index: number) => boolean) =>
    Array.from({ length: to - from }, (_, index) => from + index).filter((index) => !used(index));
  const left = free(a0, a1, (a) => pairs[a] !== -1);
  const right = free(b0, b1, (b) => taken[b] !== 0);
  const numbersOf = createNumbering();
  const mine = left.map((a) => numbersOf((after[a] as Entry).node));
  const theirs = right.map((b) => numbersOf((before[b] as Entry).node));
  const wide = left.length * right.length > MAX_COMPARED;
  const even = left.length === right.length;
  const candidates: { a: number; b: number; alike: number }[] = [];
  left.forEach((a, i) => {
    const middle = Math.round((i * right.length) / left.length);
    const [from, to] = wide ? [Math.max(0, middle - WINDOW), middle + WINDOW] : [0, right.length];
    for (let j = from; j < Math.min(to, right.length); j += 1) {
      const b = right[j] as number;
      if (after[a]?.node.type !== before[b]?.node.type) continue;
      const alike = likeness(mine[i] as Uint32Array, theirs[j] as Uint32Array);
      const inPlace = even && i === j;
      if (alike > MIN_LIKENESS || inPlace) candidates.push({ a, b, alike });
    }
  });
  candidates.sort(
    (x, y) => y.alike - x.alike || Math.abs(x.a - a0 - x.b + b0) - Math.abs(y.a - a0 - y.b + b0) || x.a - y.a,
  );
  for (const { a, b } of candidates) if (pairs[a] === -1 && taken[b] === 0) pair(a, b);
}

/** Creates a function that returns the distinct words of a block as ascending numbers, equal for equal words. */
function createNumbering(): (block: Entry['node']) => Uint32Array {
  const known = new Map<string, number>();
  const numberOf = (word: string): number => {
    const number = known.get(word) ?? known.size;
    known.set(word, number);
    return number;
  };
  return (block) => Uint32Array.from(wordsOf(block), numberOf).sort();
}

/** Returns the share of words that two blocks have in common: 0 to 1. */
function likeness(mine: Uint32Array, theirs: Uint32Array): number {
  if (mine.length === 0 && theirs.length === 0) return 1;
  let shared = 0;
  for (let i = 0, j = 0; i < mine.length && j < theirs.length; ) {
    const [a, b] = [mine[i] as number, theirs[j] as number];
    if (a === b) shared += 1;
    if (a <= b) i += 1;
    if (b <= a) j += 1;
  }
  return (2 * shared) / (mine.length + theirs.length);
}
