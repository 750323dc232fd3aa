import type { Quota } from '@commonplace/kit/quota';
import type { Collection, Store } from '@commonplace/kit/store';
import type { Shared } from '../parts.js';
import type { NumberSource } from './numbers.js';
import {
  type ActivityRecord,
  activityCollection,
  type ChildCountRecord,
  childCountCollection,
  type ItemRemovalRecord,
  itemRemovalCollection,
  type LastNumberRecord,
  lastNumberCollection,
  type RunLinkRecord,
  type RunStartRecord,
  runLinkCollection,
  runStartCollection,
  type WorkItemRecord,
  workItemCollection,
} from './records.js';

/** The collections of work items. */
export interface WorkItemRecords {
  readonly items: Collection<WorkItemRecord>;
  readonly counts: Collection<ChildCountRecord>;
  readonly lastNumbers: Collection<LastNumberRecord>;
  readonly activities: Collection<ActivityRecord>;
  readonly links: Collection<RunLinkRecord>;
  readonly starts: Collection<RunStartRecord>;
  readonly removals: Collection<ItemRemovalRecord>;
}

/** Dependencies of the handlers and jobs of work items. */
export interface WorkItemParts extends WorkItemRecords, Shared {
  readonly numbers: NumberSource;
  /** The quota of work items per workspace. */
  readonly quota: Quota;
}

export async function openWorkItemRecords(store: Store): Promise<WorkItemRecords> {
  return {
    items: await store.collection(workItemCollection),
    counts: await store.collection(childCountCollection),
    lastNumbers: await store.collection(lastNumberCollection),
    activities: await store.collection(activityCollection),
    links: await store.collection(runLinkCollection),
    starts: await store.collection(runStartCollection),
    removals: await store.collection(itemRemovalCollection),
  };
}
