import { setTimeout as sleep } from 'node:timers/promises';
import type { EventBus } from './port.js';

/** A record that is followed, as one reading of it shows it. */
export interface FollowOptions<T> {
  readonly bus: Pick<EventBus, 'listen'>;
  /** Each change of the record is broadcast to this topic. */
  readonly topic: string;
  /** Reads the record as its reader may see it. What it throws ends the following. */
  read(): Promise<T>;
  /** Tells the state of a record; a reading with the same state as the one before is left out. */
  stateOf(record: T): string;
  /** Whether no further change is to come. */
  isFinal(record: T): boolean;
  readonly signal: AbortSignal;
  /** Milliseconds after which the record is read without a broadcast: one may be lost, and access may end. */
  readonly recheckMs?: number;
}

const RECHECK_MS = 1_500;
/** Milliseconds between two readings, so that a record that changes often is not read as often. */
const MIN_GAP_MS = 50;

/** Yields a record as it is, and again after each change, until it is final or `signal` aborts. */
export async function* followRecord<T>(options: FollowOptions<T>): AsyncGenerator<T> {
  const { bus, topic, signal, recheckMs = RECHECK_MS } = options;
  let wake = new AbortController();
  const listener = await bus.listen(topic, () => wake.abort());
  try {
    for (let known: string | undefined; !signal.aborted; ) {
      wake = new AbortController();
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

/** Waits so long, or until a signal aborts. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal, ref: false }).catch(() => {});
}
