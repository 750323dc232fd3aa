import { type Collection, type CollectionSpec, inWork, type Store, type StoredRecord } from '@commonplace/kit/store';

/** Holds what the last sweep has left for an operator to decide. */
export interface HeldSweep {
  /** Unreferenced objects that were not moved because they are too large a share of the store. */
  readonly held: number;
  /** Number of objects in the store. */
  readonly objects: number;
  /** Number of unreferenced objects that the next sweep may move, whatever their share. */
  readonly allowed: number;
}

export type SweepRecord = StoredRecord & HeldSweep;

export const sweepCollection: CollectionSpec<SweepRecord> = { name: 'sweeps', indexes: [] };
const ID = 'orphans';

export function readSweep(sweeps: Collection<SweepRecord>): Promise<HeldSweep | undefined> {
  return sweeps.get(ID);
}

export async function saveSweep(
  { store, sweeps }: { readonly store: Store; readonly sweeps: Collection<SweepRecord> },
  { held, objects, allowed }: HeldSweep,
): Promise<void> {
  await inWork(store, async (work) => {
    const before = await work.get(sweeps, ID);
    if (before === undefined) work.insert(sweeps, { id: ID, held, objects, allowed });
    else work.replace(sweeps, before, { id: ID, held, objects, allowed });
  });
}
