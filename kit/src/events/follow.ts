import { setTimeout as sleep } from 'node:timers/promises';
import { createBreathe } from '../slices/index.js';
import type { EventBus } from './port.js';

/** Options of `followRecord`. `T` is the record as the reader may see it. */
interface FollowOptions<T> {
  readonly bus: Pick<EventBus, 'listen'>;
  /** Topic to which each change of the record is broadcast. */
  readonly topic: string;
  /** Reads the record as the reader may see it. If it throws, `followRecord` ends with that error. */
  read(): Promise<T>;
  /**
   * Returns a text that identifies the record's state. A record in the same state as the previous one is not yielded
   * again.
   */
  stateOf(record: T): string;
  /** Returns whether the record will not change any more. */
  isFinal(record: T): boolean;
  readonly signal: AbortSignal;
  /**
   * Milliseconds after which the record is read without a broadcast, because a broadcast may be lost and the reader's
   * access may end.
   */
  readonly recheckMs?: number;
}

const RECHECK_MS = 1_500;
/** Minimum milliseconds between two reads, so that a record that changes often is not read at each change. */
const MIN_GAP_MS = 50;

/** Yields a record in its present state, and again after each change, until it is final or `signal` aborts. */
export async function* followRecord<T>(options: FollowOptions<T>): AsyncGenerator<T> {
  const { bus, topic, signal, recheckMs = RECHECK_MS } = options;
  // One change wakes all readers of a record at once, so they take turns.
  const breathe = createBreathe();
  let wake = new AbortController();
  const listener = await bus.listen(topic, () => wake.abort());
  try {
    for (let known: string | undefined; !signal.aborted; ) {
      wake = new AbortController();
      await breathe();
      const record = await options.read();
      const state = options.stateOf(record);
      const isFinal = options.isFinal(record);
      if (state !== known || isFinal) yield record;
      if (isFinal) return;
      known = state;
      await pause(recheckMs, AbortSignal.any([wake.signal, signal]));
      await pause(MIN_GAP_MS, signal);
    }
  } finally {
    await listener.close();
  }
}

/** Waits for `ms` milliseconds, or until a signal aborts. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal, ref: false }).catch(() => {});
}
