import type { Collection, CollectionSpec, StoredRecord } from '@commonplace/kit/store';

/** A browser session. Its id is the keyed hash of the cookie, so that a copy of the store opens nothing. */
export interface SessionRecord extends StoredRecord {
  readonly userId: string;
  readonly createdAt: string;
  /** At most five minutes behind the truth. */
  readonly lastSeenAt: string;
  readonly expiresAt: string;
}

export const sessionCollection: CollectionSpec<SessionRecord> = {
  name: 'sessions',
  indexes: [{ fields: ['expiresAt'] }],
};

export function endedSessions(
  sessions: Collection<SessionRecord>,
  now: string,
  limit: number,
): Promise<SessionRecord[]> {
  return sessions.find({ where: { expiresAt: { lte: now } }, sort: ['expiresAt'], limit });
}
