import { normalize } from '@commonplace/kit/words';
import type { Cell } from './column.js';
import { type Breathe, STRIDE } from './slices.js';
import { compareText, sortTexts } from './text-order.js';

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
  const folded = (ASCII.test(text) ? text : normalize(text, 'NFKC')).toLowerCase();
  // Returns the original string if folding changed nothing, so that no second copy stays in memory.
  return folded === text ? text : folded;
}

export function createTerms(): Terms {
  const cells: Cell[] = [null];
  const codes = new Map<string, number>();
  const folds: string[] = [];
  let order: Uint32Array = new Uint32Array(0);
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
      const texts: string[] = [''];
      for (let code = 1; code < count; code++) {
        texts.push(keyOf(cells[code] as Cell));
        if (code % STRIDE === 0) await breathe();
      }
      const sorted = await sortedCodes(texts, order, breathe);
      const made = new Uint32Array(count);
      for (let rank = 0; rank < sorted.length; rank++) {
        made[sorted[rank] as number] = rank;
        if (rank % STRIDE === 0) await breathe();
      }
      // Another call may have computed the ranks in the meantime, and for more values.
      if (made.length > ranks.length) {
        order = sorted;
        ranks = made;
      }
      return made;
    },
    get weight() {
      return weight + order.length * 8;
    },
  };
}

/** Share of new values above which all are sorted again, which takes less time than placing each of them. */
const MAX_NEW_SHARE = 1 / 32;

/** Returns the codes of all values but the empty one in order. `known` is the order of the first of them. */
async function sortedCodes(texts: readonly string[], known: Uint32Array, breathe: Breathe): Promise<Uint32Array> {
  const from = texts.length * MAX_NEW_SHARE < texts.length - 1 - known.length ? 1 : known.length + 1;
  const fresh = await sortTexts(texts.slice(from), breathe);
  for (let i = 0; i < fresh.length; i++) {
    fresh[i] = (fresh[i] as number) + from;
    if (i % STRIDE === 0) await breathe();
  }
  return from === 1 ? fresh : merged(texts, known, fresh, breathe);
}

/** Merges two sorted lists of codes. Binary search places the new ones, which are few. */
async function merged(
  texts: readonly string[],
  old: Uint32Array,
  fresh: Uint32Array,
  breathe: Breathe,
): Promise<Uint32Array> {
  const out = new Uint32Array(old.length + fresh.length);
  let from = 0;
  for (const [placed, code] of fresh.entries()) {
    let low = from;
    let high = old.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareText(texts[old[middle] as number] as string, texts[code] as string) <= 0) low = middle + 1;
      else high = middle;
    }
    out.set(old.subarray(from, low), from + placed);
    out[low + placed] = code;
    from = low;
    await breathe();
  }
  out.set(old.subarray(from), from + fresh.length);
  return out;
}
