import { SlotMap } from '../slots/index.js';

type Slice = SlotMap<() => void>;

const SLICE_MS = 50;
const slices = new Map<number, Slice>();

/**
 * Calls back within 50 ms after a time; returns a function that cancels it. All callbacks in one slice of time share a
 * timer, because a timer for each call costs more than the call.
 */
export function at(time: number, due: () => void): () => void {
  const number = Math.ceil(time / SLICE_MS);
  const slice = slices.get(number) ?? openSlice(number);
  const place = slice.put(due);
  return () => void slice.take(place);
}

/**
 * Opens a slice. It is a separate function, because a timer retains everything in its closure: here that would be a
 * call and its answer.
 */
function openSlice(number: number): Slice {
  const slice: Slice = new SlotMap();
  slices.set(number, slice);
  const endAll = () => {
    slices.delete(number);
    for (const due of slice.takeAll()) due();
  };
  setTimeout(endAll, Math.max(0, Math.min(number * SLICE_MS - Date.now(), 2 ** 31 - 1))).unref();
  return slice;
}
