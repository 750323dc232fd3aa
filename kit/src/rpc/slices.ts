import { SlotMap } from '../slots/index.js';

type Slice = SlotMap<() => void>;

const SLICE_MS = 50;
const slices = new Map<number, Slice>();

/**
 * Calls back within 50 ms after a time; the function returned takes that back. All that is due in one slice of time
 * shares a timer: one for each call costs more than the call.
 */
export function at(time: number, due: () => void): () => void {
  const number = Math.ceil(time / SLICE_MS);
  const slice = slices.get(number) ?? openSlice(number);
  const place = slice.put(due);
  return () => void slice.take(place);
}

/** A function of its own, for a timer holds on to all that the function around it knows: a call and its answer. */
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
