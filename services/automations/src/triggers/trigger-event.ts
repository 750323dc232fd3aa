import type { DomainEvent } from '@commonplace/kit/events';
import { draftOf, type EventDraft, type EventType, SOURCES } from '@commonplace/platform/public-events';
import { NOT_OF_WORKSPACES, TRIGGER_EVENT_TYPES } from '../definitions/event-types.js';

/** An event of a workspace, in the form that automations receive. */
export interface TriggerEvent extends EventDraft {
  readonly id: string;
  readonly time: string;
  readonly tenant: string;
  readonly workspaceId: string;
  readonly chain: readonly string[];
  /** The event on the bus, with data that clients do not see. */
  readonly source: DomainEvent;
}

const STARTS: ReadonlySet<EventType> = new Set(TRIGGER_EVENT_TYPES);

/** The types of events on the bus that can become trigger events. */
export const BUS_TYPES: readonly string[] = Object.keys(SOURCES).filter((type) => {
  const [, , ...name] = type.split('.');
  return !NOT_OF_WORKSPACES.has(name.join('.') as EventType);
});

/** Converts an event of the bus; undefined if it belongs to no workspace or can start nothing. */
export function triggerEventOf(source: DomainEvent): TriggerEvent | undefined {
  const draft = draftOf(source);
  if (draft?.workspaceId === undefined || !STARTS.has(draft.type)) return undefined;
  // The end of a skipped run could start its automation again, which skips again, without end.
  if (draft.type === 'automation_run.finished' && source.data.status === 'skipped') return undefined;
  const { id, time, tenant = '', chain = [] } = source;
  return { ...draft, ...{ id, time, tenant, chain, source }, workspaceId: draft.workspaceId };
}
