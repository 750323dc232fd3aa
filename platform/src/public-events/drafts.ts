import type { DomainEvent } from '@commonplace/kit/events';
import type { Audience } from './audience.js';
import type { EventType } from './types.js';

/** An event of the bus in the form for clients and automations. */
export interface EventDraft {
  readonly type: EventType;
  /** Empty for a Personal tenant. */
  readonly orgId: string;
  /** Absent for an event that concerns an Org as a whole. */
  readonly workspaceId?: string;
  readonly audience: Audience;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Translates an event of one type; returns undefined for an event that is not public. */
export type EventSource = (event: DomainEvent) => EventDraft | undefined;

type Data = DomainEvent['data'];

export function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : [];
}

/** Returns the named fields of an event under their snake_case names. An absent field or an empty text becomes null. */
export function pick(data: Data, fields: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    fields.map((field) => {
      const value = data[field];
      const name = field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      return [name, value === undefined || value === '' ? null : value];
    }),
  );
}

/** Returns the Org and workspace of an event about something in a workspace. A Personal workspace is its own tenant. */
export function placeOf({ tenant, data }: DomainEvent): Pick<EventDraft, 'orgId' | 'workspaceId'> {
  const workspaceId = text(data.workspaceId);
  return { orgId: tenant === workspaceId ? '' : (tenant ?? ''), ...(workspaceId !== '' && { workspaceId }) };
}
