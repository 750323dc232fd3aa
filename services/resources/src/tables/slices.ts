import type { Breathe } from '@commonplace/kit/slices';

export { type Breathe, createBreathe, mergeRuns, sortInSlices } from '@commonplace/kit/slices';

/**
 * Number of elements processed between two yields to the event loop: some 0.2 ms in code that the engine has not
 * optimized yet.
 */
export const STRIDE = 1024;
/** Number of rows of a request that are processed between two yields to the event loop. */
export const ROWS_AT_ONCE = 16;
/** Number of numbers that are sorted at a time. */
const SORTED_AT_ONCE = 8192;

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
