import { type Collection, inWork, type Store, type StoredRecord, type Where } from '@commonplace/kit/store';
import type { WorkItemRecords } from './parts.js';

/** What has been purged: all of a tenant, or one workspace. */
export type PurgedPlace = { readonly tenant: string } | { readonly workspaceId: string };

/** Records that one unit of work removes. */
const CHUNK = 100;

type PlacedRecord = StoredRecord & { readonly tenant: string; readonly workspaceId: string };

/**
 * Deletes all work items of a place that has been purged, with everything that belongs to them. No events are published.
 * It may be called again after it was interrupted.
 */
export async function purgeWorkItems(
  parts: WorkItemRecords & { readonly store: Store },
  where: PurgedPlace,
): Promise<void> {
  const { starts, removals, items, counts, activities, links, lastNumbers } = parts;
  // What starts runs goes first.
  const all: readonly unknown[] = [starts, removals, items, counts, activities, links, lastNumbers];
  for (const records of all) await removeAll(parts.store, records as Collection<PlacedRecord>, where);
}

async function removeAll(store: Store, records: Collection<PlacedRecord>, where: Where<PlacedRecord>): Promise<void> {
  for (;;) {
    const left = await inWork(store, async (work) => {
      const found = await records.find({ where, limit: CHUNK });
      for (const one of found) work.remove(records, one);
      return found.length;
    });
    if (left < CHUNK) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
