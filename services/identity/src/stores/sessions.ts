import type { Collection, CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import type { Session } from '../domain/session.js';

/** A stored session. Its id is the keyed hash of the cookie, so that a copy of the store opens no session. */
export interface SessionRecord extends StoredRecord, Session {}

export const sessionCollection: CollectionSpec<SessionRecord> = {
  name: 'sessions',
  indexes: [{ fields: ['expiresAt'] }, { fields: ['userId', 'createdAt'] }],
  expires: 'expiresAt',
};

/** Maximum sessions per person that the setting allows, because one request lists or ends all of them. */
export const MAX_SESSIONS = 10_000;

/** Returns a person's sessions, including ended ones, newest first. */
export function sessionsOf(
  sessions: Collection<SessionRecord>,
  userId: string,
  limit = MAX_SESSIONS,
): Promise<SessionRecord[]> {
  return sessions.find({ where: { userId }, sort: ['-createdAt'], limit });
}
