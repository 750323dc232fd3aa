import type { EventBus, Subscription } from '@commonplace/kit/events';
import { type CollectionSpec, removeAll, type Store, type StoredRecord } from '@commonplace/kit/store';
import { consume, type TypedEvent } from '@commonplace/platform/events';
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

const FOLLOWED = ['tenancy.org.purged', 'tenancy.workspace.purged'] as const;

/** Deletes the automations and work items of Orgs that have been purged. */
export async function watchPurges(store: Store, bus: EventBus): Promise<Subscription> {
  const collections = await Promise.all(SPECS.map((spec) => store.collection(spec)));
  const workItems = { store, ...(await openWorkItemRecords(store)) };
  return consume(bus, { consumer: 'automations.purges', events: FOLLOWED }, async (event) => {
    const tenant = tenantOf(event);
    if (tenant === undefined) return;
    for (const records of collections) await removeAll(store, records, { tenant });
    await purgeWorkItems(workItems, { tenant });
  });
}

/** A workspace of an Org is purged with it, so the Org's own event follows; a Personal one is its own tenant. */
function tenantOf({ name, tenant, data }: TypedEvent<(typeof FOLLOWED)[number]>): string | undefined {
  return name === 'tenancy.org.purged' || data.orgId === '' ? tenant : undefined;
}
