import type { EventType } from '@commonplace/platform/public-events';
import type { StoredTrigger, TriggerType } from '../definitions/records.js';
import type { TriggerEvent } from './trigger-event.js';

/** The types of triggers that events start; requests and schedules start the others. */
export const EVENT_TRIGGERS = [
  'event',
  'form_submission',
  'row_created',
  'row_updated',
  'work_item_changed',
] as const satisfies readonly TriggerType[];

const OWN_TYPES: Partial<Record<TriggerType, readonly EventType[]>> = {
  form_submission: ['form.submitted'],
  row_created: ['row.created'],
  row_updated: ['row.updated'],
  work_item_changed: ['work_item.created', 'work_item.updated'],
};

/** Returns the types of events that start a trigger. */
function typesOf({ type, types = [] }: StoredTrigger): readonly string[] {
  return type === 'event' ? types : (OWN_TYPES[type] ?? []);
}

/** Returns whether an event matches a trigger, as far as the event's own data shows. */
export function matchesEvent(trigger: StoredTrigger, { type, data }: TriggerEvent): boolean {
  if (!typesOf(trigger).includes(type)) return false;
  const changed = listIn(data.changed_fields);
  switch (trigger.type) {
    case 'form_submission':
      return trigger.formId === undefined || trigger.formId === data.form_id || trigger.formId === data.resource_id;
    case 'row_created':
      return trigger.tableId === data.table_id;
    case 'row_updated':
      return trigger.tableId === data.table_id && hasAny(changed, trigger.columns);
    case 'work_item_changed':
      return type === 'work_item.created' || hasAny(changed, trigger.fields);
    default:
      return true;
  }
}

/** Returns whether a trigger filters by properties of the event's resources. */
export function filtersResources({ type, parentId, resourceType, tagId }: StoredTrigger): boolean {
  return type === 'event' && (parentId ?? resourceType ?? tagId) !== undefined;
}

/** The properties of a resource that a trigger can filter by. */
export interface ResourceFacts {
  readonly type: string;
  readonly ancestorIds: readonly string[];
  readonly tagIds: readonly string[];
}

/** Returns whether a resource passes the filters of a trigger. */
export function matchesResource(
  { parentId, resourceType, tagId }: StoredTrigger,
  { type, ancestorIds, tagIds }: ResourceFacts,
): boolean {
  if (parentId !== undefined && !ancestorIds.includes(parentId)) return false;
  if (resourceType !== undefined && type !== resourceType) return false;
  return tagId === undefined || tagIds.includes(tagId);
}

function hasAny(changed: readonly string[], wanted: readonly string[] | undefined): boolean {
  return wanted === undefined || wanted.length === 0 || wanted.some((one) => changed.includes(one));
}

function listIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? (value as string[]) : [];
}
