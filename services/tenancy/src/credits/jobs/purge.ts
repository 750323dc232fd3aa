import { openCollections, removeAll, type Store } from '@commonplace/kit/store';
import { CREDIT_RECORDS } from '../records.js';

/** Deletes all credit records, usage and settings of a purged Org. */
export async function purgeCredits(store: Store, tenant: string): Promise<void> {
  const records = await openCollections(store, CREDIT_RECORDS);
  await removeAll(store, records.reservations, { tenant });
  await removeAll(store, records.grantExpiries, { tenant });
  await removeAll(store, records.usage, { tenant });
  await removeAll(store, records.ledger, { tenant });
  await removeAll(store, records.usageSettings, { id: tenant });
  await removeAll(store, records.accounts, { id: tenant });
}
