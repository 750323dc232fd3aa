import type { Breathe } from './breathe.js';

/** Number of elements that are sorted or merged between two yields to the event loop. */
const AT_ONCE = 1024;

/** Sorts blocks and then merges them, yielding to the event loop in between. Stable. */
export async function sortInSlices<T>(values: readonly T[], compare: (a: T, b: T) => number, breathe: Breathe) {
  let runs: T[][] = [];
  for (let at = 0; at < values.length; at += AT_ONCE) {
    runs.push(values.slice(at, at + AT_ONCE).sort(compare));
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
    if ((i + j) % AT_ONCE === 0) await breathe();
  }
  for (const [rest, from] of [[left, i] as const, [right, j] as const]) {
    for (let at = from; at < rest.length; at++) {
      out.push(rest[at] as T);
      if (at % AT_ONCE === 0) await breathe();
    }
  }
  return out;
}
