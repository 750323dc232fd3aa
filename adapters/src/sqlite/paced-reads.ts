import { nextTurn } from '@commonplace/kit/slices';
import type { Collection, StoredRecord } from '@commonplace/kit/store';
import { type Read, wrapReads } from '../store/wrap-reads.js';

/** Milliseconds of reads in a row after which other work runs. */
const MAX_ROW_MS = 5;

/** Returns a promise to await before a read if many reads came before it in a row. */
export type Pace = () => Promise<void> | undefined;

/**
 * Creates the pace of the reads of one connection. A read is done when its call returns, and to await what is there
 * already lets nothing else run: a loop of thousands of reads would block the event loop until its end. A row ends when no
 * promise is left to continue, which is when Node calls `nextTick`. Those of a row that have to wait continue together.
 */
export function createPace(): Pace {
  let since: number | undefined;
  let pause: Promise<void> | undefined;
  return () => {
    const now = performance.now();
    if (since === undefined) {
      since = now;
      process.nextTick(() => {
        since = undefined;
      });
      return undefined;
    }
    if (now - since < MAX_ROW_MS) return undefined;
    pause ??= nextTurn().then(() => {
      pause = undefined;
    });
    return pause;
  };
}

/** Returns a collection whose reads keep a pace. */
export function pacedReads<T extends StoredRecord>(collection: Collection<T>, pace: Pace): Collection<T> {
  return wrapReads(collection, <A, B, R>(_name: string, read: Read<A, B, R>): Read<A, B, R> => {
    const wait = async (first: Promise<void>, a: A, b: B): Promise<R> => {
      for (let pause: Promise<void> | undefined = first; pause !== undefined; pause = pace()) await pause;
      return read(a, b);
    };
    return (a, b) => {
      const pause = pace();
      return pause === undefined ? read(a, b) : wait(pause, a, b);
    };
  });
}
