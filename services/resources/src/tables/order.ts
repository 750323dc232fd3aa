import { invalidField } from '@commonplace/kit/errors';
import { isObject } from '@commonplace/kit/json';
import type { Column } from './column.js';
import { parseJson, requireColumn } from './filter.js';
import { type Breathe, STRIDE, sortedNumbers, sortInSlices } from './slices.js';

export interface SortTerm {
  readonly column: Column;
  readonly descending: boolean;
}

const MAX_SORT_TERMS = 10;

/** Parses a sort order `[{"column","direction"}…]`. Throws `invalid_value` or `unknown_column`. */
export function parseSort(text: string, columns: readonly Column[]): SortTerm[] {
  if (text === '') return [];
  const given = parseJson(text, 'sort', 'invalid_value');
  if (!Array.isArray(given) || given.length > MAX_SORT_TERMS) {
    throw invalidField(
      'sort',
      'invalid_value',
      `sort must be a list of at max ${MAX_SORT_TERMS} columns with their directions.`,
    );
  }
  return given.map((entry: unknown) => {
    const { column, direction = 'asc', ...rest } = isObject(entry) ? entry : { column: entry };
    if ((direction !== 'asc' && direction !== 'desc') || Object.keys(rest).length > 0) {
      throw invalidField('sort', 'invalid_value', 'must have the direction asc or desc.');
    }
    return { column: requireColumn(column, columns, 'sort'), descending: direction === 'desc' };
  });
}

/** A key to sort rows by: one number for each row, NaN for an empty cell. */
export interface SortKey {
  readonly values: Float64Array;
  readonly descending: boolean;
}

/**
 * Returns the indices 0…n-1 sorted by several keys, the first being the most significant. Empty cells come last in
 * either direction, and the sort is stable. Takes linear time, except for keys that are not small whole numbers, which
 * are sorted by comparison.
 */
export async function orderBy(keys: readonly SortKey[], count: number, breathe: Breathe): Promise<Uint32Array> {
  let ranks: Ranks = { of: new Float64Array(count), distinct: 1 };
  for (const { values, descending } of [...keys].reverse()) {
    const own = await directed(await rank(values, breathe), values, descending, breathe);
    if (ranks.distinct > 1) {
      for (let i = 0; i < count; i++) {
        own.of[i] = (own.of[i] as number) * ranks.distinct + (ranks.of[i] as number);
        if (i % STRIDE === 0) await breathe();
      }
      ranks = await rank(own.of, breathe);
      await breathe();
    } else ranks = own;
  }
  return placed(ranks, breathe);
}

/**
 * Returns the first `wanted` indices of the order that `orderBy` gives, in one pass: a heap holds the best ones so far,
 * with the worst of them on top.
 */
export async function firstBy(
  keys: readonly SortKey[],
  count: number,
  wanted: number,
  breathe: Breathe,
): Promise<Uint32Array> {
  const before = comparison(keys);
  const heap = new Uint32Array(Math.min(wanted, count));
  let size = 0;
  const sink = (at: number): void => {
    for (let i = at; ; ) {
      let worst = i;
      for (const child of [2 * i + 1, 2 * i + 2]) {
        if (child < size && before(heap[worst] as number, heap[child] as number)) worst = child;
      }
      if (worst === i) return;
      const moved = heap[i] as number;
      heap[i] = heap[worst] as number;
      heap[worst] = moved;
      i = worst;
    }
  };
  for (let place = 0; place < count; place++) {
    if (size < heap.length) {
      heap[size++] = place;
      if (size === heap.length) for (let i = size >>> 1; i >= 0; i--) sink(i);
    } else if (size > 0 && before(place, heap[0] as number)) {
      heap[0] = place;
      sink(0);
    }
    if (place % STRIDE === 0) await breathe();
  }
  return Uint32Array.from(await sortInSlices([...heap], (a, b) => (before(a, b) ? -1 : 1), breathe));
}

/** Returns a function that returns whether one index comes before another. */
function comparison(keys: readonly SortKey[]): (a: number, b: number) => boolean {
  return (a, b) => {
    for (const { values, descending } of keys) {
      const x = values[a] as number;
      const y = values[b] as number;
      if (x === y) continue;
      if (Number.isNaN(x) || Number.isNaN(y)) {
        if (Number.isNaN(x) === Number.isNaN(y)) continue;
        return Number.isNaN(y);
      }
      return descending ? x > y : x < y;
    }
    return a < b;
  };
}

interface Ranks {
  /** The rank of each value among the distinct values. */
  readonly of: Float64Array;
  readonly distinct: number;
}

/** Reverses the ranks for a descending order; empty cells stay last. */
async function directed(ranks: Ranks, values: Float64Array, descending: boolean, breathe: Breathe): Promise<Ranks> {
  if (!descending) return ranks;
  const { of, distinct } = ranks;
  let last = distinct - 1;
  for (let i = 0; i < values.length && last === distinct - 1; i++) {
    if (Number.isNaN(values[i])) last--;
    if (i % STRIDE === 0) await breathe();
  }
  for (let i = 0; i < of.length; i++) {
    const rank = of[i] as number;
    of[i] = rank > last ? rank : last - rank;
    if (i % STRIDE === 0) await breathe();
  }
  return ranks;
}

/** Values below this are ranked by counting instead of sorting. */
const COUNTED = 1 << 21;

async function rank(values: Float64Array, breathe: Breathe): Promise<Ranks> {
  return (await countedRank(values, breathe)) ?? sortedRank(values, breathe);
}

/** Ranks small whole numbers, with empty cells last; undefined if there are other values. */
async function countedRank(values: Float64Array, breathe: Breathe): Promise<Ranks | undefined> {
  let max = -1;
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as number;
    if (i % STRIDE === 0) await breathe();
    if (Number.isNaN(value)) continue;
    if (!(value >= 0 && value < COUNTED && Number.isInteger(value))) return undefined;
    if (value > max) max = value;
  }
  const places = new Uint32Array(max + 2);
  const at = (value: number): number => (Number.isNaN(value) ? max + 1 : value);
  for (let i = 0; i < values.length; i++) {
    places[at(values[i] as number)] = 1;
    if (i % STRIDE === 0) await breathe();
  }
  let distinct = 0;
  for (let i = 0; i < places.length; i++) {
    if (places[i] === 1) places[i] = distinct++;
    if (i % STRIDE === 0) await breathe();
  }
  const of = new Float64Array(values.length);
  for (let i = 0; i < of.length; i++) {
    of[i] = places[at(values[i] as number)] as number;
    if (i % STRIDE === 0) await breathe();
  }
  return { of, distinct };
}

async function sortedRank(given: Float64Array, breathe: Breathe): Promise<Ranks> {
  const values = new Float64Array(given.length);
  for (let i = 0; i < values.length; i++) {
    const value = given[i] as number;
    values[i] = Number.isNaN(value) ? Number.POSITIVE_INFINITY : value;
    if (i % STRIDE === 0) await breathe();
  }
  const sorted = await sortedNumbers(values, breathe);
  let distinct = 0;
  for (let i = 0; i < sorted.length; i++) {
    if (i === 0 || sorted[i] !== sorted[distinct - 1]) sorted[distinct++] = sorted[i] as number;
    if (i % STRIDE === 0) await breathe();
  }
  const find = (value: number): number => {
    let low = 0;
    let high = distinct - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((sorted[middle] as number) < value) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const of = new Float64Array(values.length);
  for (let i = 0; i < of.length; i++) {
    of[i] = find(values[i] as number);
    if (i % STRIDE === 0) await breathe();
  }
  return { of, distinct };
}

/** Returns the indices ordered by rank; equal ones keep their order. */
async function placed({ of, distinct }: Ranks, breathe: Breathe): Promise<Uint32Array> {
  const next = new Uint32Array(distinct + 1);
  for (let i = 0; i < of.length; i++) {
    const after = (of[i] as number) + 1;
    next[after] = (next[after] as number) + 1;
    if (i % STRIDE === 0) await breathe();
  }
  for (let i = 1; i <= distinct; i++) {
    next[i] = (next[i] as number) + (next[i - 1] as number);
    if (i % STRIDE === 0) await breathe();
  }
  const order = new Uint32Array(of.length);
  for (let i = 0; i < of.length; i++) {
    const value = of[i] as number;
    const at = next[value] as number;
    order[at] = i;
    next[value] = at + 1;
    if (i % STRIDE === 0) await breathe();
  }
  return order;
}
