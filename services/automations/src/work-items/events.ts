import type { Actor } from '@commonplace/kit/auth';
import { createEvent, type DomainEvent } from '@commonplace/kit/events';
import type { CallContext } from '@commonplace/kit/rpc';
import type { WorkItemRecord } from './records.js';

type ItemEventType = 'created' | 'updated' | 'deleted';

interface ItemEventFacts {
  readonly changedFields?: readonly string[];
  /** The people to notify of their assignment. */
  readonly assignedUserIds?: readonly string[];
}

const dataOf = (item: WorkItemRecord, { changedFields = [], assignedUserIds = [] }: ItemEventFacts) => {
  const { workspaceId, number, version, title } = item;
  return { workspaceId, number, changedFields, version, assignedUserIds, title };
};

/** Returns the event of a caller's change. */
export function itemEvent(
  context: CallContext,
  type: ItemEventType,
  item: WorkItemRecord,
  facts: ItemEventFacts = {},
): DomainEvent {
  return context.event(`work_item.${type}`, item.id, dataOf(item, facts), item.tenant);
}

/** Returns the event of a removal by a background job. */
export function removalEvent(item: WorkItemRecord, actor: Actor): DomainEvent {
  const about = { subject: item.id, data: dataOf(item, {}), tenant: item.tenant };
  return createEvent({ service: 'automations', type: 'work_item.deleted', ...about, actor });
}
