import { getHeapStatistics, setFlagsFromString } from 'node:v8';

/** Milliseconds after which the size of the heap is looked at again. */
const PERIOD_MS = 2000;
/** Bytes by which a heap may grow beyond its live size before a major collection. */
const HEADROOM_BYTES = 64 * 2 ** 20;
/** The growth of a large heap and of a small one, in percent of its live size. */
const MIN_PERCENT = 25;
const MAX_PERCENT = 100;

/**
 * Lets small heaps grow by more of their size than large ones before a garbage collection, for all threads of this
 * process. By default the engine lets a heap grow to four times its live size if the machine has the memory, so that
 * imports take twice as much; a quarter for all heaps would be a collection for each few megabytes of a small one.
 */
export function limitHeapGrowth(): void {
  let set = 0;
  const look = () => {
    const percent = growthOf(getHeapStatistics().used_heap_size);
    if (percent === set) return;
    set = percent;
    setFlagsFromString(`--heap-growing-percent=${percent}`);
  };
  look();
  setInterval(look, PERIOD_MS).unref();
}

/** Returns the percentage by which a heap of this many bytes may grow, in steps of 5. */
export function growthOf(bytes: number): number {
  const percent = Math.round((HEADROOM_BYTES / bytes) * 20) * 5;
  return Math.min(MAX_PERCENT, Math.max(MIN_PERCENT, percent));
}
