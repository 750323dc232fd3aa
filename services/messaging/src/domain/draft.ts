import type { DomainEvent } from '@commonplace/kit/events';

/** What somebody is told of; the contract's names in lower case. */
export type NotificationType =
  | 'mention'
  | 'comment_reply'
  | 'comment_resolved'
  | 'access_requested'
  | 'access_decided'
  | 'resource_shared'
  | 'member_added'
  | 'key_expiring'
  | 'import_finished'
  | 'form_submitted'
  | 'webhook_disabled';

export interface Target {
  readonly type: 'resource' | 'workspace' | 'org' | 'api_key';
  readonly id: string;
}

/** What the words of a notification are made of, besides who did it and what its target is called now. */
export interface Facts {
  /** What was said with it. */
  readonly message?: string;
  readonly role?: string;
  /** Whether somebody has come by themselves. */
  readonly joined?: boolean;
  readonly approved?: boolean;
  /** An API key's name and the days that it has left. */
  readonly key?: { readonly name: string; readonly daysLeft: number };
  /** Where a webhook is that was switched off. */
  readonly host?: string;
  /** How an import has ended, and what it is called. */
  readonly import?: { readonly name: string; readonly status: string };
}

/** A notification before anybody has it. */
export interface Draft {
  readonly type: NotificationType;
  /** Ids of the people it is for. Who did it is left out later. */
  readonly to: readonly string[];
  /** Unread ones of one person with the same key become one. */
  readonly groupKey: string;
  readonly target: Target;
  /** The Org whose matter it is; `undefined` for a Personal one. */
  readonly orgId: string | undefined;
  readonly workspaceId?: string;
  readonly facts: Facts;
}

/** Turns an event of one type into what people are told. Pure: it asks nobody. */
export type Source = (event: DomainEvent) => readonly Draft[];

/** The Org that an event in a workspace belongs to: a Personal workspace is its own tenant. */
export function orgOf({ tenant }: DomainEvent, workspaceId: string): string | undefined {
  return tenant === workspaceId ? undefined : tenant;
}

/** The person who did what an event tells of, whatever credential they used; undefined for the system. */
export function personBehind({ actor, data }: DomainEvent): string | undefined {
  if (typeof data.actorId === 'string' && data.actorId !== '') return data.actorId;
  return actor?.type === 'user' ? actor.id : actor?.person;
}

/** Ids among the values of a list in an event. */
export function idsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((id) => typeof id === 'string' && id !== '') : [];
}

/** A text in an event; empty where there is none. */
export function textIn(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
