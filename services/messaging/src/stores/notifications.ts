import { type Collection, type CollectionSpec, keyset, type StoredRecord, type Where } from '@commonplace/kit/store';
import type { Facts, NotificationType, Target } from '../domain/draft.js';

/** Archived goes before read and unread. */
export type State = 'unread' | 'read' | 'archived';

/** What one person is told; its words are made when it is read, from what the reader may see then. */
export interface Notification extends StoredRecord {
  /** The Org's id, or that of the Personal workspace; absent for what is of neither. */
  readonly tenant?: string;
  /** Whose it is, in which tenant. */
  readonly inbox: string;
  readonly type: NotificationType;
  readonly groupKey: string;
  /** `<inbox>:<group key>` while it is unread and the next of its kind is to be counted in. */
  readonly openKey?: string;
  readonly count: number;
  readonly actor: { readonly type: string; readonly id: string; readonly name: string };
  readonly target: Target;
  readonly workspaceId?: string;
  readonly facts: Facts;
  readonly state: State;
  readonly readAt?: string;
  /** When it happened, the last time. */
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
};

/** A person's inbox in one tenant; the Personal one without an Org. */
export function inboxOf(userId: string, orgId: string | undefined): string {
  return `${userId}:${orgId ?? 'personal'}`;
}

/** Events that were taken in, so that none is counted twice. */
export interface SeenEvent extends StoredRecord {
  readonly expiresAt: string;
}

export const seenEventCollection: CollectionSpec<SeenEvent> = {
  name: 'seen_events',
  indexes: [{ fields: ['expiresAt'] }],
};

const CHUNK = 1000;

/** All matching ones, in the order of their ids. An inbox is bounded. */
export async function findAll(records: Collection<Notification>, where: Where<Notification>): Promise<Notification[]> {
  const all: Notification[] = [];
  for (;;) {
    const last = all.at(-1);
    const chunk = await records.find({ where, limit: CHUNK, ...(last && { after: keyset(last) }) });
    all.push(...chunk);
    if (chunk.length < CHUNK) return all;
  }
}
