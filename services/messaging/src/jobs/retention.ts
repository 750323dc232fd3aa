import { type Collection, LostRace, type StoredRecord } from '@commonplace/kit/store';
import type { Parts } from '../parts.js';

const HOUR_MS = 3_600_000;
/** Records that one unit deletes. */
const CHUNK = 500;

export interface Retention {
  /** Deletes what has expired by now. Gives how many. */
  run(): Promise<number>;
  /** Runs each hour. */
  start(): void;
  /** Stops, and waits for what runs. */
  close(): Promise<void>;
}

/** Deletes notifications, and marks of events, whose time is over. */
export function createRetention(parts: Parts): Retention {
  let running: Promise<unknown> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  async function clear<T extends StoredRecord & { readonly expiresAt: string }>(records: Collection<T>) {
    for (let gone = 0; ; ) {
      const where = { expiresAt: { lte: new Date(parts.now()).toISOString() } } as never;
      const expired = closed ? [] : await records.find({ where, limit: CHUNK });
      const work = parts.store.begin();
      for (const record of expired) work.remove(records, record);
      if (expired.length > 0) await commitUnlessRaced(work);
      gone += expired.length;
      if (expired.length < CHUNK) return gone;
    }
  }

  const run = async () => (await clear(parts.notifications)) + (await clear(parts.seenEvents));
  return {
    run,
    start() {
      timer = setInterval(() => {
        running = run().catch((error: unknown) => parts.log.error('notifications.retention_failed', { error }));
      }, HOUR_MS);
      timer.unref();
    },
    async close() {
      closed = true;
      clearInterval(timer);
      await running;
    },
  };
}

/** Another process may be at it: what it leaves is found the next time. */
async function commitUnlessRaced(work: { commit(): Promise<void> }): Promise<void> {
  try {
    await work.commit();
  } catch (error) {
    if (!(error instanceof LostRace)) throw error;
  }
}
