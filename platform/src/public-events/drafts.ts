import type { DomainEvent } from '@commonplace/kit/events';
import type { Audience } from './audience.js';
import type { EventType } from './types.js';

/** What an event of the bus becomes for clients and for automations. */
export interface EventDraft {
  readonly type: EventType;
  /** Empty for a Personal tenant. */
  readonly orgId: string;
  /** Absent for what belongs to an Org as a whole. */
  readonly workspaceId?: string;
  readonly audience: Audience;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Translates an event of one type; undefined for one that nobody is told. */
export type EventSource = (event: DomainEvent) => EventDraft | undefined;

type Data = DomainEvent['data'];

export function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : [];
}

/** Returns the named fields of an event under their snake_case names. What is absent or an empty text is null. */
export function pick(data: Data, fields: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    fields.map((field) => {
      const value = data[field];
      const name = field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      return [name, value === undefined || value === '' ? null : value];
    }),
  );
}

/** Returns where an event about something in a workspace belongs. A Personal workspace is its own tenant. */
export function placeOf({ tenant, data }: DomainEvent): Pick<EventDraft, 'orgId' | 'workspaceId'> {
  const workspaceId = text(data.workspaceId);
  return { orgId: tenant === workspaceId ? '' : (tenant ?? ''), ...(workspaceId !== '' && { workspaceId }) };
}
