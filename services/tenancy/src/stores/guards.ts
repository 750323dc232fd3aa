import type { Collection, CollectionSpec, StoredRecord, UnitOfWork } from '@commonplace/kit/store';

/**
 * A record that every change of one kind writes, so that two concurrent changes conflict. "At least one owner
 * remains" concerns several records, so the versions of the single records do not protect it.
 */
export interface Guard extends StoredRecord {
  readonly tenant: string;
}

export const guardCollection: CollectionSpec<Guard> = { name: 'guards', indexes: [] };

/** Makes this unit of work fail if another one has touched the same guard since this one read it. */
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
