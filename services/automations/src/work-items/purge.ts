import { type Collection, removeAll, type Store, type StoredRecord } from '@commonplace/kit/store';
import type { WorkItemRecords } from './parts.js';

/** The purged tenant or workspace. */
type PurgedPlace = { readonly tenant: string } | { readonly workspaceId: string };

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
