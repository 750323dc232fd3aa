import type { EventBus, Subscription } from '@commonplace/kit/events';
import { type CollectionSpec, openCollections, removeAll, type Store, type StoredRecord } from '@commonplace/kit/store';
import { consume, type TypedEvent } from '@commonplace/platform/events';
import { automationCollection, definitionCollection } from '../definitions/records.js';
import { laneCollection, runCollection, stepCollection } from '../runs/records.js';
import { WORK_ITEM_RECORDS } from '../work-items/parts.js';
import { purgeWorkItems } from '../work-items/purge.js';
import { hookDeliveryCollection } from './hook-records.js';
import { contentTurnCollection } from './records.js';

/**
 * The collections of automations that name a tenant. Those that lead to new runs come before the runs, so that no run
 * is added after they were deleted.
 */
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

/** Deletes the automations and work items of purged Orgs and Personal workspaces. */
export async function watchPurges(store: Store, bus: EventBus): Promise<Subscription> {
  const collections = await Promise.all(SPECS.map((spec) => store.collection(spec)));
  const workItems = { store, ...(await openCollections(store, WORK_ITEM_RECORDS)) };
  return consume(bus, { consumer: 'automations.purges', events: FOLLOWED }, async (event) => {
    const tenant = tenantOf(event);
    if (tenant === undefined) return;
    for (const records of collections) await removeAll(store, records, { tenant });
    await purgeWorkItems(workItems, { tenant });
  });
}

/**
 * Returns the tenant to purge. A workspace of an Org is purged with the Org, whose own event follows; a Personal
 * workspace is its own tenant.
 */
function tenantOf({ name, tenant, data }: TypedEvent<(typeof FOLLOWED)[number]>): string | undefined {
  return name === 'tenancy.org.purged' || data.orgId === '' ? tenant : undefined;
}
