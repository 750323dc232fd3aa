import { type Collection, LostRace, type Store, type StoredRecord, type Where } from './port.js';

/** Number of records that one unit of work deletes. */
const CHUNK = 500;

/**
 * Deletes all records that have expired at `now` (RFC 3339), from every opened collection that declares `expires`.
 * Returns the number of deleted records. Stops early, between two units, when `signal` aborts.
 */
export async function removeExpired(store: Store, now: string, signal?: AbortSignal): Promise<number> {
  let removed = 0;
  for (const collection of store.expiring()) removed += await removeExpiredFrom(store, collection, now, signal);
  return removed;
}

async function removeExpiredFrom(
  store: Store,
  collection: Collection<StoredRecord>,
  now: string,
  signal: AbortSignal | undefined,
): Promise<number> {
  const field = collection.spec.expires as keyof StoredRecord & string;
  const where: Where<StoredRecord> = { [field]: { lte: now } };
  for (let removed = 0; ; ) {
    const expired = signal?.aborted ? [] : await collection.find({ where, sort: [field], limit: CHUNK });
    if (expired.length === 0) return removed;
    const work = store.begin();
    for (const record of expired) work.remove(collection, record);
    try {
      await work.commit();
    } catch (error) {
      // Another process is deleting the same records. The next round finds what it leaves.
      if (error instanceof LostRace) return removed;
      throw error;
    }
    removed += expired.length;
  }
}
