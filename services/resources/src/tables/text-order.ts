import { type Breathe, mergeRuns, STRIDE, sortInSlices } from './slices.js';
import { appendKey, createAlphabet, createTextKeys, KEY_END, LOCALES, OPTIONS, type TextKeys } from './text-keys.js';

const collator = new Intl.Collator(LOCALES, OPTIONS);

/** Number of characters that the collator compares. It takes a time that grows with the square of marks in a row. */
const COLLATED_CHARS = 1000;

/** Orders texts as people do, by their beginnings: case, accents and digits by their meaning. */
export function compareText(a: string, b: string): number {
  return collator.compare(beginningOf(a), beginningOf(b)) || (a < b ? -1 : a > b ? 1 : 0);
}

const beginningOf = (text: string): string => (text.length <= COLLATED_CHARS ? text : text.slice(0, COLLATED_CHARS));

/**
 * Returns the indices of texts in the order of `compareText`; equal texts keep their order. Texts of common characters
 * are sorted by keys: the collator takes ten times as long.
 */
export async function sortTexts(texts: readonly string[], breathe: Breathe): Promise<Uint32Array> {
  const { keys, starts, keyed, others } = await keysOf(texts, breathe);
  const compare = (a: number, b: number) => compareText(texts[a] as string, texts[b] as string) || a - b;
  await sortByKeys(keyed, keys, starts, compare, breathe);
  if (others.length === 0) return keyed;
  const rest = await sortInSlices(others, compare, breathe);
  return Uint32Array.from(await mergeRuns(keyed, rest, compare, breathe));
}

/** Makes the keys of texts. Returns the indices of texts that have one, and of those that do not. */
async function keysOf(texts: readonly string[], breathe: Breathe) {
  const characters = createAlphabet();
  for (let i = 0; i < texts.length; i++) {
    characters.add(texts[i] as string);
    if (i % STRIDE === 0) await breathe();
  }
  const alphabet = characters.build();
  const keys = createTextKeys();
  const starts = new Uint32Array(texts.length);
  const keyed = new Uint32Array(texts.length);
  const others: number[] = [];
  let count = 0;
  for (let i = 0; i < texts.length; i++) {
    starts[i] = keys.end;
    if (appendKey(keys, texts[i] as string, alphabet)) keyed[count++] = i;
    else others.push(i);
    if (i % STRIDE === 0) await breathe();
  }
  return { keys, starts, keyed: keyed.subarray(0, count), others };
}

/** A part of the order whose keys have the first `depth` weights in common. */
interface Range {
  readonly from: number;
  readonly to: number;
  readonly depth: number;
}

/** Sorts indices by their keys with a multikey quicksort, and those with equal keys by `compare`. */
async function sortByKeys(
  order: Uint32Array,
  { weights }: TextKeys,
  starts: Uint32Array,
  compare: (a: number, b: number) => number,
  breathe: Breathe,
): Promise<void> {
  const weightAt = (place: number, depth: number) =>
    weights[(starts[order[place] as number] as number) + depth] as number;
  const open: Range[] = [{ from: 0, to: order.length, depth: 0 }];
  let steps = 0;
  for (let range = open.pop(); range !== undefined; range = open.pop()) {
    const { from, to, depth } = range;
    if (to - from < 2) continue;
    const pivot = middleOf(weightAt(from, depth), weightAt((from + to) >>> 1, depth), weightAt(to - 1, depth));
    // Weights before `low` are less than the pivot, those between `low` and `at` equal, and those from `high` greater.
    let low = from;
    let high = to;
    for (let at = from; at < high; ) {
      const weight = weightAt(at, depth);
      if (weight < pivot) swap(order, low++, at++);
      else if (weight > pivot) swap(order, at, --high);
      else at++;
      if (++steps % STRIDE === 0) await breathe();
    }
    open.push({ from, to: low, depth }, { from: high, to, depth });
    if (pivot !== KEY_END) open.push({ from: low, to: high, depth: depth + 1 });
    else if (high - low > 1) order.set(await sortInSlices([...order.subarray(low, high)], compare, breathe), low);
  }
}

function middleOf(a: number, b: number, c: number): number {
  return Math.max(Math.min(a, b), Math.min(Math.max(a, b), c));
}

function swap(order: Uint32Array, a: number, b: number): void {
  const moved = order[a] as number;
  order[a] = order[b] as number;
  order[b] = moved;
}
