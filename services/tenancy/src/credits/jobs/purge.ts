import type { Collection, Store, StoredRecord, Where } from '@commonplace/kit/store';
import { openCreditRecords } from '../records.js';

/** Number of records that one unit of work deletes. */
const BATCH = 500;

/** Deletes all credit records, usage and settings of a purged Org. */
export async function purgeCredits(store: Store, tenant: string): Promise<void> {
  const { accounts, ledger, reservations, grantExpiries, usage, usageSettings } = await openCreditRecords(store);
  await removeWhere(store, reservations, { tenant });
  await removeWhere(store, grantExpiries, { tenant });
  await removeWhere(store, usage, { tenant });
  await removeWhere(store, ledger, { tenant });
  await removeWhere(store, usageSettings, { id: tenant });
  await removeWhere(store, accounts, { id: tenant });
}

async function removeWhere<T extends StoredRecord>(
  store: Store,
  collection: Collection<T>,
  where: Where<T>,
): Promise<void> {
  for (;;) {
    const records = await collection.find({ where, anyOrder: true, limit: BATCH });
    if (records.length === 0) return;
    const work = store.begin();
    for (const record of records) work.remove(collection, record);
    await work.commit();
  }
}
