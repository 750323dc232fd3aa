import { setImmediate } from 'node:timers/promises';
import { type Collection, LostRace, type Store, type StoredRecord, type UnitOfWork, type Where } from './port.js';

const MAX_RUNS = 12;

/**
 * Runs `change` in a unit of work outside of any request, and commits it. Runs it again, up to `MAX_RUNS` times, if the
 * commit rejects with `LostRace`.
 */
export async function inWork<T>(store: Store, change: (work: UnitOfWork) => Promise<T>): Promise<T> {
  for (let run = 1; ; run++) {
    const work = store.begin();
    const result = await change(work);
    if (!work.dirty) return result;
    try {
      await work.commit();
      return result;
    } catch (error) {
      if (!(error instanceof LostRace) || run === MAX_RUNS) throw error;
    }
  }
}

/** Records that one unit of work deletes. */
const MAX_REMOVED = 200;

/** Deletes all records of a condition, some in each unit of work. Those that are added meanwhile are deleted as well. */
export async function removeAll<R extends StoredRecord>(
  store: Store,
  records: Collection<R>,
  where: Where<R>,
): Promise<void> {
  for (;;) {
    const removed = await inWork(store, async (work) => {
      const found = await records.find({ where, anyOrder: true, limit: MAX_REMOVED });
      for (const record of found) work.remove(records, record);
      return found.length;
    });
    if (removed < MAX_REMOVED) return;
    await setImmediate();
  }
}
