import type { Breathe } from '@commonplace/kit/slices';

export { type Breathe, createBreathe } from '@commonplace/kit/slices';

/**
 * Number of elements processed between two yields to the event loop: some 0.2 ms in code that the engine has not
 * optimized yet.
 */
export const STRIDE = 1024;
/** Number of rows of a request that are processed between two yields to the event loop. */
export const ROWS_AT_ONCE = 16;
/** Number of numbers that are sorted at a time. */
const SORTED_AT_ONCE = 8192;

/** Sorts blocks and then merges them, yielding to the event loop in between. Stable. */
export async function sortInSlices<T>(values: readonly T[], compare: (a: T, b: T) => number, breathe: Breathe) {
  const block = 1024;
  let runs: T[][] = [];
  for (let at = 0; at < values.length; at += block) {
    runs.push(values.slice(at, at + block).sort(compare));
    await breathe();
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let i = 0; i < runs.length; i += 2) {
      merged.push(await mergeRuns(runs[i] as T[], runs[i + 1] ?? [], compare, breathe));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

/** Merges two sorted lists; of equal elements, those of `left` come first. */
export async function mergeRuns<T>(
  left: ArrayLike<T>,
  right: ArrayLike<T>,
  compare: (a: T, b: T) => number,
  breathe: Breathe,
) {
  const out: T[] = [];
  let i = 0;
  let j = 0;
  while (i < left.length && j < right.length) {
    const a = left[i] as T;
    const b = right[j] as T;
    if (compare(a, b) <= 0) {
      out.push(a);
      i++;
    } else {
      out.push(b);
      j++;
    }
    if ((i + j) % 1024 === 0) await breathe();
  }
  for (const [rest, from] of [[left, i] as const, [right, j] as const]) {
    for (let at = from; at < rest.length; at++) {
      out.push(rest[at] as T);
      if (at % STRIDE === 0) await breathe();
    }
  }
  return out;
}

/** Returns the numbers in ascending order. Blocks are sorted and then merged, with pauses for other work. */
export async function sortedNumbers(values: Float64Array, breathe: Breathe): Promise<Float64Array> {
  let from = values.slice();
  let to = new Float64Array(values.length);
  for (let at = 0; at < from.length; at += SORTED_AT_ONCE) {
    from.subarray(at, at + SORTED_AT_ONCE).sort();
    await breathe();
  }
  for (let width = SORTED_AT_ONCE; width < from.length; width *= 2) {
    for (let at = 0; at < from.length; at += 2 * width) await mergeNumbers(from, to, at, width, breathe);
    [from, to] = [to, from];
  }
  return from;
}

/** Merges the two sorted runs of `width` numbers that begin at `at` into the same place of `to`. */
async function mergeNumbers(from: Float64Array, to: Float64Array, at: number, width: number, breathe: Breathe) {
  const middle = Math.min(at + width, from.length);
  const end = Math.min(middle + width, from.length);
  let i = at;
  let j = middle;
  for (let k = at; k < end; k++) {
    const first = j >= end || (i < middle && (from[i] as number) <= (from[j] as number));
    to[k] = first ? (from[i++] as number) : (from[j++] as number);
    if (k % STRIDE === 0) await breathe();
  }
}
