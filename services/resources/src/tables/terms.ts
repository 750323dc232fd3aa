import type { Cell } from './column.js';
import { type Breathe, sortInSlices } from './slices.js';
import { createTextOrder } from './text-order.js';

/**
 * The distinct values of one column that does not hold numbers, each with a code, so that rows need four bytes each and
 * a condition is tested once per value. Values are never removed.
 */
export interface Terms {
  /** Returns the code of a value, and adds the value if it is new; 0 for an empty one. */
  code(cell: Cell): number;
  /** Returns the code of a value; undefined if no row ever had it. */
  find(cell: Cell): number | undefined;
  /** Values by code; code 0 is the empty value. */
  readonly cells: readonly Cell[];
  /** Returns the text of a value by code, folded for search: case and width do not matter. */
  folded(code: number): string;
  /** Returns the rank of each value by code, in the order of `compareText`. */
  ranks(breathe: Breathe): Promise<Uint32Array>;
  /** Approximate size in bytes. */
  readonly weight: number;
}

/** Returns a key that identifies a value within its column. */
const keyOf = (cell: Cell): string => (typeof cell === 'string' ? cell : JSON.stringify(cell));

const ASCII = /^[\x20-\x7e]*$/;

/** Folds a text for substring search: case and width do not matter. */
export function foldText(text: string): string {
  const folded = (ASCII.test(text) ? text : text.normalize('NFKC')).toLowerCase();
  // Returns the original string if folding changed nothing, so that no second copy stays in memory.
  return folded === text ? text : folded;
}

export function createTerms(): Terms {
  const cells: Cell[] = [null];
  const codes = new Map<string, number>();
  const folds: string[] = [];
  let order: number[] = [];
  let ranks = new Uint32Array(1);
  let weight = 0;
  return {
    cells,
    code(cell) {
      if (cell === null || cell === undefined) return 0;
      const key = keyOf(cell);
      const known = codes.get(key);
      if (known !== undefined) return known;
      const code = cells.length;
      cells.push(cell);
      codes.set(key, code);
      // Estimates the string and its entries in the map and the list.
      weight += key.length + 80;
      return code;
    },
    find: (cell) => codes.get(keyOf(cell)),
    folded(code) {
      const known = folds[code];
      if (known !== undefined) return known;
      const cell = cells[code] ?? null;
      const made = cell === null ? '' : foldText(keyOf(cell));
      folds[code] = made;
      weight += made.length;
      return made;
    },
    async ranks(breathe) {
      if (ranks.length === cells.length) return ranks;
      const count = cells.length;
      const texts = cells.map((cell) => (cell === null ? '' : keyOf(cell)));
      const compare = createTextOrder(texts);
      const fresh = Array.from({ length: count - 1 - order.length }, (_, i) => order.length + 1 + i);
      const sorted = await merged(order, await sortInSlices(fresh, compare, breathe), compare, breathe);
      const made = new Uint32Array(count);
      for (const [rank, code] of sorted.entries()) made[code] = rank;
      // Another call may have computed the ranks in the meantime, and for more values.
      if (made.length > ranks.length) {
        order = sorted;
        ranks = made;
      }
      return made;
    },
    get weight() {
      return weight + order.length * 12;
    },
  };
}

/** Merges two sorted lists. Binary search places the new values, which are few. */
async function merged(
  old: readonly number[],
  fresh: readonly number[],
  compare: (a: number, b: number) => number,
  breathe: Breathe,
): Promise<number[]> {
  const out: number[] = [];
  let from = 0;
  for (const code of fresh) {
    let low = from;
    let high = old.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compare(old[middle] as number, code) <= 0) low = middle + 1;
      else high = middle;
    }
    for (; from < low; from++) out.push(old[from] as number);
    out.push(code);
    await breathe();
  }
  for (; from < old.length; from++) out.push(old[from] as number);
  return out;
}
