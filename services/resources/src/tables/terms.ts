import type { Cell } from './column.js';
import { type Breathe, sortInSlices } from './slices.js';

/** Text as people order it: case, accents and digits by their meaning, Chinese by its reading. */
const collator = new Intl.Collator(['en', 'zh'], { numeric: true, caseFirst: 'lower' });

export function compareText(a: string, b: string): number {
  return collator.compare(a, b) || (a < b ? -1 : a > b ? 1 : 0);
}

/**
 * The different values of one column that is not a number, each with a number of its own, so that
 * rows hold four bytes and a condition is asked once for each value. Values are only ever added.
 */
export interface Terms {
  /** The number of a value, made where it is new; 0 for an empty one. */
  code(cell: Cell): number;
  /** The number of a value, undefined where no row ever had it. */
  find(cell: Cell): number | undefined;
  /** By number; 0 is the empty one. */
  readonly cells: readonly Cell[];
  /** By number, each value's text folded for search: case and width do not count. */
  folded(code: number): string;
  /** By number, the place of each value among all, as people order them. */
  ranks(breathe: Breathe): Promise<Uint32Array>;
  /** About how many bytes it takes. */
  readonly weight: number;
}

/** A value's text, which tells it from all others of its column. */
const keyOf = (cell: Cell): string => (typeof cell === 'string' ? cell : JSON.stringify(cell));

const ASCII = /^[\x20-\x7e]*$/;

/** Folded for search within texts: case and width do not count. */
export function foldText(text: string): string {
  const folded = (ASCII.test(text) ? text : text.normalize('NFKC')).toLowerCase();
  // The same text once, where nothing was to fold.
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
      // The string, its place in the map and in the list.
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
      const compare = (a: number, b: number): number => compareText(texts[a] as string, texts[b] as string);
      const fresh = Array.from({ length: count - 1 - order.length }, (_, i) => order.length + 1 + i);
      const sorted = await merged(order, await sortInSlices(fresh, compare, breathe), compare, breathe);
      const made = new Uint32Array(count);
      for (const [rank, code] of sorted.entries()) made[code] = rank;
      // Another computation may have done it meanwhile, and for more values.
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

/** Two sorted lists as one: few new ones find their places by halving. */
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
