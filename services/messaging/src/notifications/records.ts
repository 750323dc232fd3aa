import { type Collection, type CollectionSpec, findAll, type StoredRecord, type Where } from '@commonplace/kit/store';
import type { Facts, NotificationType, Target } from '../domain/draft.js';

/** The state of a notification; `archived` takes precedence over `read` and `unread`. */
export type State = 'unread' | 'read' | 'archived';

/** A notification for one recipient. Its text is built when it is read, from what the reader may see at that time. */
export interface Notification extends StoredRecord {
  /** The id of the Org, or of the Personal workspace; absent if it belongs to neither. */
  readonly tenant?: string;
  /** The inbox of the recipient in the tenant, see `inboxOf`. */
  readonly inbox: string;
  readonly type: NotificationType;
  readonly groupKey: string;
  /** `<inbox>:<group key>` while the notification is unread; further events of the group increase its count. */
  readonly openKey?: string;
  readonly count: number;
  readonly actor: { readonly type: string; readonly id: string; readonly name: string };
  readonly target: Target;
  readonly workspaceId?: string;
  readonly facts: Facts;
  readonly state: State;
  readonly readAt?: string;
  /** The time of the latest event that the notification counts. */
  readonly at: string;
  readonly expiresAt: string;
}

export const notificationCollection: CollectionSpec<Notification> = {
  name: 'notifications',
  indexes: [
    { fields: ['openKey'], unique: true },
    { fields: ['inbox', 'at'] },
    { fields: ['inbox', 'state', 'at'] },
    { fields: ['tenant'] },
    { fields: ['expiresAt'] },
  ],
  expires: 'expiresAt',
};

/** Returns the key of a person's inbox in an Org, or in the Personal tenant if `orgId` is undefined. */
export function inboxOf(userId: string, orgId: string | undefined): string {
  return `${userId}:${orgId ?? 'personal'}`;
}

/** The id of a processed event or of a part of its recipients, stored so that none is processed twice. */
export interface SeenEvent extends StoredRecord {
  readonly expiresAt: string;
}

export const seenEventCollection: CollectionSpec<SeenEvent> = {
  name: 'seen_events',
  indexes: [{ fields: ['expiresAt'] }],
  expires: 'expiresAt',
};

const CHUNK = 1000;

/**
 * Returns all matching records in the order of their ids. It loads them into memory, since the size of an inbox is
 * limited.
 */
export function findInbox(records: Collection<Notification>, where: Where<Notification>): Promise<Notification[]> {
  return findAll(records, { where }, CHUNK);
}
