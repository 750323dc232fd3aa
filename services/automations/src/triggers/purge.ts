import type { DomainEvent, EventBus, Subscription } from '@commonplace/kit/events';
import { type Collection, type CollectionSpec, inWork, type Store, type StoredRecord } from '@commonplace/kit/store';
import { automationCollection, definitionCollection } from '../definitions/records.js';
import { laneCollection, runCollection, stepCollection } from '../runs/records.js';
import { openWorkItemRecords } from '../work-items/parts.js';
import { purgeWorkItems } from '../work-items/purge.js';
import { hookDeliveryCollection } from './hook-records.js';
import { contentTurnCollection } from './records.js';

/** What is kept of the automations of a tenant. What starts runs comes before the runs, so that none is added behind them. */
const SPECS = [
  automationCollection,
  contentTurnCollection,
  hookDeliveryCollection,
  definitionCollection,
  runCollection,
  stepCollection,
  laneCollection,
] as unknown as readonly CollectionSpec<StoredRecord>[];

const TYPES = ['commonplace.tenancy.org.purged', 'commonplace.tenancy.workspace.purged'];
/** Records that one unit deletes. */
const CHUNK = 200;

/** Deletes the automations and work items of Orgs that have been purged. */
export async function watchPurges(store: Store, bus: EventBus): Promise<Subscription> {
  const collections = await Promise.all(SPECS.map((spec) => store.collection(spec)));
  const workItems = { store, ...(await openWorkItemRecords(store)) };
  return bus.subscribe({ consumer: 'automations.purges', types: TYPES }, async (events) => {
    for (const event of events) {
      const tenant = tenantOf(event);
      if (tenant === undefined) continue;
      for (const records of collections) await removeAll(store, records, tenant);
      await purgeWorkItems(workItems, { tenant });
    }
  });
}

/** A workspace of an Org is purged with it, so the Org's own event follows; a Personal one is its own tenant. */
function tenantOf({ type, tenant, data }: DomainEvent): string | undefined {
  if (type.endsWith('org.purged')) return tenant;
  return data.orgId === '' || data.orgId === undefined ? tenant : undefined;
}

async function removeAll(store: Store, records: Collection<StoredRecord>, tenant: string): Promise<void> {
  for (;;) {
    const left = await inWork(store, async (work) => {
      const found = await records.find({ where: { tenant }, limit: CHUNK });
      for (const one of found) work.remove(records, one);
      return found.length;
    });
    if (left < CHUNK) return;
  }
}
