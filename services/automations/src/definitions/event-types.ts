import { EVENT_TYPES, type EventType } from '@commonplace/platform/public-events';

/** Types of events of a person or a tenant, which belong to no workspace and start nothing. */
export const NOT_OF_WORKSPACES: ReadonlySet<EventType> = new Set<EventType>([
  'conversation.read',
  'usage.alert',
  'credits.low',
  'group.created',
  'group.updated',
  'group.deleted',
  'group_member.added',
  'group_member.removed',
]);

/** The types of events that can start an automation. */
export const TRIGGER_EVENT_TYPES: readonly EventType[] = EVENT_TYPES.filter((type) => !NOT_OF_WORKSPACES.has(type));
