import type { DomainEvent } from '@commonplace/kit/events';
import { draftOf, EVENT_TYPES, type EventDraft, type EventType, SOURCES } from '@commonplace/platform/public-events';

/** An event of a workspace, as an automation is told it. */
export interface TriggerEvent extends EventDraft {
  readonly id: string;
  readonly time: string;
  readonly tenant: string;
  readonly workspaceId: string;
  readonly chain: readonly string[];
  /** The event of the bus, with what clients are not told. */
  readonly source: DomainEvent;
}

/** Where a person is in a conversation, and what concerns a tenant as a whole, starts nothing. */
const NEVER: ReadonlySet<EventType> = new Set<EventType>(['conversation.read', 'usage.alert', 'credits.low']);

/** The types of events that an automation can start at. */
export const TRIGGER_EVENT_TYPES: readonly EventType[] = EVENT_TYPES.filter((type) => !NEVER.has(type));

const STARTS: ReadonlySet<EventType> = new Set(TRIGGER_EVENT_TYPES);

/** The types of the bus's events that may become one of them. */
export const BUS_TYPES: readonly string[] = Object.keys(SOURCES).filter((type) => {
  const [, , ...name] = type.split('.');
  return !NEVER.has(name.join('.') as EventType);
});

/** Translates an event of the bus; undefined for one that belongs to no workspace or that nothing starts at. */
export function triggerEventOf(source: DomainEvent): TriggerEvent | undefined {
  const draft = draftOf(source);
  if (draft?.workspaceId === undefined || !STARTS.has(draft.type)) return undefined;
  // The end of a skipped run would start its automation, which skips, for ever.
  if (draft.type === 'automation_run.finished' && source.data.status === 'skipped') return undefined;
  const { id, time, tenant = '', chain = [] } = source;
  return { ...draft, ...{ id, time, tenant, chain, source }, workspaceId: draft.workspaceId };
}
