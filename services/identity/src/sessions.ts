import type { CallContext } from '@commonplace/kit/rpc';
import { type Collection, LostRace, type Store, type UnitOfWork } from '@commonplace/kit/store';
import type { Background } from './background.js';
import { keyedHash } from './domain/keyed-hash.js';
import type { PurposeKeys } from './domain/secrets.js';
import {
  credentialIdOf,
  hasEnded,
  isSeenDue,
  newCookie,
  newSession,
  type SessionLife,
  type SessionOrigin,
  sessionIdsOf,
} from './domain/session.js';
import { ExpiredCredentials, InvalidCredentials, MissingCredentials } from './errors.js';
import { type SignInMethod, sessionEnded, sessionStarted } from './events.js';
import { type SessionRecord, sessionsOf } from './stores/sessions.js';
import type { UserRecord } from './stores/users.js';

/** A session that was just created, or found by its cookie. */
export interface OpenSession {
  readonly record: SessionRecord;
  /**
   * The token that writes have to send along with the cookie. It is derived from the session, so that nothing more
   * is stored.
   */
  readonly csrfToken: string;
}

type NewSession = OpenSession & { readonly cookie: string };

type SessionUser = Pick<UserRecord, 'id' | 'name' | 'credentialEpoch'>;

/** How a person signed in. `strong`: by two factors, a passkey or an identity provider. */
interface SignIn {
  readonly method: SignInMethod;
  readonly strong: boolean;
}

export interface Sessions {
  /** Adds a session to a unit of work. The cookie is returned only here. */
  begin(work: UnitOfWork, user: SessionUser, origin: SessionOrigin, strong?: boolean): NewSession;
  /** Creates a session, then ends the person's oldest ones beyond the maximum. */
  start(user: SessionUser, origin: SessionOrigin, how: SignIn, context: CallContext): Promise<NewSession>;
  /**
   * Replaces a session's cookie in a unit of work and records that the person has just authenticated. The old cookie
   * ends. The CSRF token stays, so that pages that are open keep working. `strong`: they proved two factors.
   */
  renew(work: UnitOfWork, session: SessionRecord, strong: boolean): Promise<NewSession>;
  /** Records in a unit of work that the person of a session has just proved a second factor or a passkey. */
  strengthen(work: UnitOfWork, session: SessionRecord): Promise<void>;
  /** Returns the session of a cookie. Throws the errors of a 401. */
  open(cookie: string): Promise<OpenSession>;
  /** Returns the session of a cookie, even if it has ended. */
  find(cookie: string): Promise<OpenSession | undefined>;
  /** Records in the background that a session was used. */
  touch(session: SessionRecord): void;
}

interface SessionParts {
  readonly store: Store;
  readonly records: Collection<SessionRecord>;
  readonly keys: PurposeKeys;
  readonly life: SessionLife;
  /** Maximum number of live sessions per person. */
  readonly perPerson: number;
  readonly background: Background;
  readonly now: () => number;
}

/** Maximum number of sessions that one unit of work ends. Larger excesses take several. */
const END_BATCH = 200;

export function createSessions(parts: SessionParts): Sessions {
  const { store, records, keys, life, perPerson, background, now } = parts;
  const csrfOf = ({ id, firstId = id }: SessionRecord, key: number): string =>
    keyedHash(keys.csrf[key] as Buffer, firstId);

  async function find(cookie: string): Promise<OpenSession | undefined> {
    const ids = sessionIdsOf(cookie, keys.sessions);
    const [record] = await records.getMany(ids);
    return record === undefined ? undefined : { record, csrfToken: csrfOf(record, ids.indexOf(record.id)) };
  }

  function begin(work: UnitOfWork, user: SessionUser, origin: SessionOrigin, strong = false): NewSession {
    const cookie = newCookie();
    const [id] = sessionIdsOf(cookie, keys.sessions);
    const session = newSession(id as string, user, origin, now(), life);
    const record = work.insert(records, { ...session, ...(strong ? { strong } : {}) });
    return { cookie, record, csrfToken: csrfOf(record, 0) };
  }

  async function renew(work: UnitOfWork, { id: before }: SessionRecord, strong: boolean): Promise<NewSession> {
    // The record is read in the unit of work, so that of two concurrent renewals one finds it gone.
    const record = await work.get(records, before);
    if (record === undefined) throw InvalidCredentials();
    const cookie = newCookie();
    const [id] = sessionIdsOf(cookie, keys.sessions);
    const { version: _, firstId = before, ...kept } = record;
    const authenticatedAt = new Date(now()).toISOString();
    const strength = strong ? { strong } : {};
    work.remove(records, record);
    const renewed = work.insert(records, { ...kept, ...strength, id: id as string, firstId, authenticatedAt });
    return { cookie, record: renewed, csrfToken: csrfOf(renewed, 0) };
  }

  /**
   * Ends a person's sessions beyond the maximum: those that have expired first, then the oldest. It runs after the
   * commit of each new session: of several concurrent sign-ins the last sees all of their sessions, so that the
   * maximum holds once the last one has returned.
   */
  async function endOldest(user: SessionUser, context: CallContext): Promise<void> {
    for (;;) {
      const found = await sessionsOf(records, user.id, perPerson + END_BATCH);
      if (found.length <= perPerson) return;
      const isOver = (session: SessionRecord) => hasEnded(session, now(), life);
      const kept = [...found.filter((session) => !isOver(session)), ...found.filter(isOver)];
      const work = store.begin();
      for (const session of kept.slice(perPerson)) {
        work.remove(records, session);
        work.publish(sessionEnded(context, credentialIdOf(session.id), user));
      }
      await work.commit().catch((error: unknown) => {
        // Another sign-in has ended one of them, or it was just used: read again.
        if (!(error instanceof LostRace)) throw error;
      });
    }
  }

  return {
    begin,
    renew,
    async strengthen(work, { id }) {
      const record = await work.get(records, id);
      if (record === undefined) throw InvalidCredentials();
      work.replace(records, record, { ...record, strong: true });
    },
    async start(user, origin, { method, strong }, context) {
      const work = store.begin();
      const session = begin(work, user, origin, strong);
      const started = { credentialId: credentialIdOf(session.record.id), method, clientIp: origin.clientIp };
      work.publish(sessionStarted(context, started, user));
      await work.commit();
      await endOldest(user, context);
      return session;
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
