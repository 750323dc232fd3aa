import type { Collection, Store, UnitOfWork } from '@commonplace/kit/store';
import type { Background } from './background.js';
import { keyedHash } from './domain/keyed-hash.js';
import type { PurposeKeys } from './domain/secrets.js';
import { hasEnded, isSeenDue, newCookie, newSession, type SessionLife, sessionIdsOf } from './domain/session.js';
import { ExpiredCredentials, InvalidCredentials, MissingCredentials } from './errors.js';
import type { SessionRecord } from './stores/sessions.js';

/** A session that is just made, or was found by its cookie. */
export interface OpenSession {
  readonly record: SessionRecord;
  /** What a write has to send beside the cookie; derived, so that nothing more is stored. */
  readonly csrfToken: string;
}

export interface Sessions {
  /** Adds a session to a unit of work; the cookie is given once. */
  begin(work: UnitOfWork, userId: string): OpenSession & { cookie: string };
  /** The session of a cookie. Throws the reasons of a 401. */
  open(cookie: string): Promise<OpenSession>;
  /** The session of a cookie, ended or not. */
  find(cookie: string): Promise<OpenSession | undefined>;
  /** Notes that a session was used, some time soon. */
  touch(session: SessionRecord): void;
}

export interface SessionParts {
  readonly store: Store;
  readonly records: Collection<SessionRecord>;
  readonly keys: PurposeKeys;
  readonly life: SessionLife;
  readonly background: Background;
  readonly now: () => number;
}

export function createSessions({ store, records, keys, life, background, now }: SessionParts): Sessions {
  const csrfOf = (id: string, key: number): string => keyedHash(keys.csrf[key] as Buffer, id);

  async function find(cookie: string): Promise<OpenSession | undefined> {
    const ids = sessionIdsOf(cookie, keys.sessions);
    const [record] = await records.getMany(ids);
    return record === undefined ? undefined : { record, csrfToken: csrfOf(record.id, ids.indexOf(record.id)) };
  }

  return {
    begin(work, userId) {
      const cookie = newCookie();
      const [id] = sessionIdsOf(cookie, keys.sessions);
      const record = work.insert(records, newSession(id as string, userId, now(), life));
      return { cookie, record, csrfToken: csrfOf(record.id, 0) };
    },
    find,
    async open(cookie) {
      if (cookie === '') throw MissingCredentials();
      const session = await find(cookie);
      if (session === undefined) throw InvalidCredentials();
      if (hasEnded(session.record, now(), life)) throw ExpiredCredentials();
      return session;
    },
    touch(session) {
      if (!isSeenDue(session, now())) return;
      background.run(`session:${session.id}`, async () => {
        const work = store.begin();
        work.replace(records, session, { ...session, lastSeenAt: new Date(now()).toISOString() });
        await work.commit();
      });
    },
  };
}
