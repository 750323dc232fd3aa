import { LimitReached } from '@commonplace/kit/errors';
import { createQuota, quotaCollection } from '@commonplace/kit/quota';
import { openCollections } from '@commonplace/kit/store';
import { contracts } from '@commonplace/platform/contracts';
import { implement, type StartedModule } from '@commonplace/platform/runtime';
import type { Shared } from '../parts.js';
import { createWorkItemHandlers } from './handlers.js';
import { NumberSource } from './numbers.js';
import { WORK_ITEM_RECORDS, type WorkItemParts } from './parts.js';
import { openItemRemovalQueue } from './remove.js';
import { followRuns } from './run-links.js';
import { openRunStartQueue } from './run-starts.js';

/** Opens the feature of work items: endpoints, starts of runs for assignments, and removals in the background. */
export async function openWorkItems(shared: Shared): Promise<StartedModule> {
  const { store, settings } = shared;
  const records = await openCollections(store, WORK_ITEM_RECORDS);
  const parts: WorkItemParts = {
    ...shared,
    ...records,
    numbers: new NumberSource(store, records),
    quota: createQuota(await store.collection(quotaCollection), {
      name: 'work_items',
      limit: settings.workItems,
      count: (workspaceId) => records.items.count({ workspaceId }),
      refuse: (limit) => LimitReached({ limit, what: 'work items in one workspace' }),
    }),
  };
  return {
    implementations: [implement(contracts.workItems, createWorkItemHandlers(parts))],
    runs: [await openRunStartQueue(parts), await openItemRemovalQueue(parts)],
    consume: () => [followRuns(parts, shared.bus)],
  };
}
