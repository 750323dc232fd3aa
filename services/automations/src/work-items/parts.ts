import type { Quota } from '@commonplace/kit/quota';
import type { Collections } from '@commonplace/kit/store';
import type { Shared } from '../parts.js';
import type { NumberSource } from './numbers.js';
import {
  activityCollection,
  childCountCollection,
  itemRemovalCollection,
  lastNumberCollection,
  runLinkCollection,
  runStartCollection,
  workItemCollection,
} from './records.js';

/** The collections of work items. */
export const WORK_ITEM_RECORDS = {
  items: workItemCollection,
  counts: childCountCollection,
  lastNumbers: lastNumberCollection,
  activities: activityCollection,
  links: runLinkCollection,
  starts: runStartCollection,
  removals: itemRemovalCollection,
};
export type WorkItemRecords = Collections<typeof WORK_ITEM_RECORDS>;

/** Dependencies of the handlers and jobs of work items. */
export interface WorkItemParts extends WorkItemRecords, Shared {
  readonly numbers: NumberSource;
  /** The quota of work items per workspace. */
  readonly quota: Quota;
}
