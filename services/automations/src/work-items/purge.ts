import { type Collection, inWork, type Store, type StoredRecord, type Where } from '@commonplace/kit/store';
import type { WorkItemRecords } from './parts.js';

/** The purged tenant or workspace. */
type PurgedPlace = { readonly tenant: string } | { readonly workspaceId: string };

/** Number of records that one unit of work removes. */
const CHUNK = 100;

type PlacedRecord = StoredRecord & { readonly tenant: string; readonly workspaceId: string };

/**
 * Deletes all work items of a purged place with everything that belongs to them. It publishes no events. After an
 * interruption it can be called again.
 */
export async function purgeWorkItems(
  parts: WorkItemRecords & { readonly store: Store },
  where: PurgedPlace,
): Promise<void> {
  const { starts, removals, items, counts, activities, links, lastNumbers } = parts;
  // The jobs that start runs are deleted first.
  const all: readonly unknown[] = [starts, removals, items, counts, activities, links, lastNumbers];
  for (const records of all) await removeAll(parts.store, records as Collection<PlacedRecord>, where);
}

async function removeAll(store: Store, records: Collection<PlacedRecord>, where: Where<PlacedRecord>): Promise<void> {
  for (;;) {
    const left = await inWork(store, async (work) => {
      const found = await records.find({ where, anyOrder: true, limit: CHUNK });
      for (const one of found) work.remove(records, one);
      return found.length;
    });
    if (left < CHUNK) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
