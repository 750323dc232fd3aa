import type { Collection, CollectionSpec, StoredRecord, UnitOfWork } from '@commonplace/kit/store';

/**
 * A record that every change of one kind writes, so that two of them at once race for it: that at least
 * one owner stays is a fact about several records, which their own versions don't keep.
 */
export interface Guard extends StoredRecord {
  readonly tenant: string;
}

export const guardCollection: CollectionSpec<Guard> = { name: 'guards', indexes: [] };

/** Makes this unit lose against any other that has touched the same guard since it was read. */
export async function touchGuard(
  work: UnitOfWork,
  guards: Collection<Guard>,
  id: string,
  tenant: string,
): Promise<void> {
  const guard = await work.get(guards, id);
  if (guard === undefined) work.insert(guards, { id, tenant });
  else work.replace(guards, guard, guard);
}
