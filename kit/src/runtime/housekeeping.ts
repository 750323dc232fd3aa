import type { Log } from '../log/index.js';
import { IDEMPOTENCY_COLLECTION } from '../rpc/idempotency.js';
import { LostRace, type Store } from '../store/port.js';

const HOUR_MS = 3_600_000;
/** Records that one unit of work deletes. */
const CHUNK = 500;

export interface Housekeeping {
  close(): Promise<void>;
}

/** Each hour deletes what has expired: outcomes kept for idempotency, and what the adapters keep for a time. */
export function startHousekeeping(stores: readonly Store[], prune: () => Promise<unknown>, log: Log): Housekeeping {
  let stopped = false;
  let running: Promise<unknown> = Promise.resolve();
  const clean = async () => {
    for (const store of stores) await forgetOutcomes(store, new Date().toISOString(), () => stopped);
    if (!stopped) await prune();
  };
  const timer = setInterval(() => {
    running = clean().catch((error) => log.error('housekeeping.failed', { error }));
  }, HOUR_MS);
  timer.unref();
  return {
    async close() {
      stopped = true;
      clearInterval(timer);
      await running;
    },
  };
}

/** Deletes the outcomes whose window is over at `now` (RFC 3339). Gives how many. */
export async function forgetOutcomes(store: Store, now: string, stopped: () => boolean = () => false): Promise<number> {
  const outcomes = await store.collection(IDEMPOTENCY_COLLECTION);
  let forgotten = 0;
  while (!stopped()) {
    const expired = await outcomes.find({ where: { expiresAt: { lte: now } }, sort: ['expiresAt'], limit: CHUNK });
    if (expired.length === 0) break;
    const work = store.begin();
    for (const record of expired) work.remove(outcomes, record);
    try {
      await work.commit();
      forgotten += expired.length;
    } catch (error) {
      // Another process of the service was at it.
      if (!(error instanceof LostRace)) throw error;
    }
  }
  return forgotten;
}
