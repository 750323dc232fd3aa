import type { DomainEvent } from '@commonplace/kit/events';

/** The types of notifications: the contract's names in lower case. */
export type NotificationType =
  | 'mention'
  | 'comment_reply'
  | 'comment_resolved'
  | 'access_requested'
  | 'access_decided'
  | 'resource_shared'
  | 'member_added'
  | 'key_expiring'
  | 'key_suspended'
  | 'import_finished'
  | 'usage_alert'
  | 'memory_proposed'
  | 'form_submitted'
  | 'webhook_disabled'
  | 'message'
  | 'approval_requested'
  | 'mcp_server_disabled'
  | 'work_item_assigned'
  | 'automation_failed'
  | 'automation_notice'
  | 'schedule_paused';

export interface Target {
  readonly type:
    | 'resource'
    | 'workspace'
    | 'org'
    | 'api_key'
    | 'usage'
    | 'conversation'
    | 'memory'
    | 'approval'
    | 'agent'
    | 'work_item'
    | 'automation'
    | 'schedule';
  readonly id: string;
}

/** The data for the text of a notification, besides the actor and the current name of the target. */
export interface Facts {
  /** A text that came with the event, such as the message of an access request or the title of an approval. */
  readonly message?: string;
  /** The resources that `message` is about. It is shown to people who can read all of them. */
  readonly resourceIds?: readonly string[];
  readonly role?: string;
  /** Whether the member joined by themselves, as opposed to being added. */
  readonly joined?: boolean;
  readonly approved?: boolean;
  /** An API key's name and the number of days until it expires. */
  readonly key?: { readonly name: string; readonly daysLeft: number };
  /** The number of the latest message that the notification counts. */
  readonly seq?: number;
  /** The host of a webhook that was disabled. */
  readonly host?: string;
  /** The names of an MCP server that was switched off and of its agent. */
  readonly mcpServer?: { readonly name: string; readonly agent: string };
  /** The name of a suspended key at the time of the event. */
  readonly called?: string;
  /** The title that an automation gave its notice. */
  readonly title?: string;
  /** Whether the automation was switched off because too many runs in a row had failed. */
  readonly disabled?: boolean;
  /** The name of an import, and its final status. */
  readonly import?: { readonly name: string; readonly status: string };
  /** The percentage of a limit that is used, the credits used or left, and the limit. */
  readonly usage?: {
    readonly about: 'monthly_cap' | 'overage' | 'credits';
    readonly threshold: number;
    readonly used: string;
    readonly limit: string;
  };
}

/** A notification before it is addressed to an inbox. */
export interface Draft {
  readonly type: NotificationType;
  /** The ids of the recipients. The person who caused the event is removed later, unless `evenDoer` is set. */
  readonly to: readonly string[];
  /** Unread notifications of one person with the same key are merged into one. */
  readonly groupKey: string;
  readonly target: Target;
  /** The id of the Org whose tenant the notification belongs to; undefined for a Personal tenant. */
  readonly orgId: string | undefined;
  readonly workspaceId?: string;
  readonly facts: Facts;
  /** Whether the person who caused the event is notified as well, as of what their own automations and schedules do. */
  readonly evenDoer?: boolean;
  /** Whether only members of the workspace are notified, since an automation may name anyone. */
  readonly membersOnly?: boolean;
}

/** The event that causes notifications. */
export type Cause = Omit<DomainEvent, 'type' | 'data'> & { readonly data: object };

/** Turns an event of one type into drafts of notifications. It is a pure function. */
export type Source = (event: DomainEvent) => readonly Draft[];

/** Returns the Org of an event in a workspace; undefined for a Personal workspace, which is its own tenant. */
export function orgOf({ tenant }: DomainEvent, workspaceId: string): string | undefined {
  return tenant === workspaceId ? undefined : tenant;
}

/** Returns the person who caused an event, whatever their credential; undefined for the system. */
export function personBehind({ actor, data }: Pick<Cause, 'actor' | 'data'>): string | undefined {
  const { actorId } = data as { readonly actorId?: unknown };
  if (typeof actorId === 'string' && actorId !== '') return actorId;
  return actor?.type === 'user' ? actor.id : actor?.person;
}

/** Returns the non-empty strings in a list of an event. */
export function idsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((id) => typeof id === 'string' && id !== '') : [];
}

/** Returns a string field of an event; empty if there is none. */
export function textIn(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
