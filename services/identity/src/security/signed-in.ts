import type { Collection } from '@commonplace/kit/store';
import type { Settings } from '../config.js';
import { isOutdated } from '../domain/session.js';
import { InvalidCredentials, ReauthenticationRequired } from '../errors.js';
import type { OpenSession, Sessions } from '../sessions.js';
import type { SessionRecord } from '../stores/sessions.js';
import type { UserRecord } from '../stores/users.js';

const MINUTE_MS = 60_000;

/** What finds the session of a cookie and its person. */
export interface SignedInParts {
  readonly sessions: Sessions;
  readonly users: Collection<UserRecord>;
}

/** What tells whether a session has authenticated recently. */
export interface RecencyParts {
  readonly settings: Pick<Settings, 'reauthenticationMinutes'>;
  /** Returns the current time in epoch milliseconds. */
  readonly now: () => number;
}

/** A valid session and its person. */
export interface SignedIn extends OpenSession {
  readonly user: UserRecord;
}

/** Returns the session of a cookie and its person. Throws the errors of a 401. */
export async function signedIn(cookie: string, { sessions, users }: SignedInParts): Promise<SignedIn> {
  const { record, csrfToken } = await sessions.open(cookie);
  const user = await users.get(record.userId);
  if (user === undefined || isOutdated(record, user)) throw InvalidCredentials();
  return { record, csrfToken, user };
}

/** Returns the time until which a session may make sensitive changes, in epoch milliseconds. */
export function recentUntil(
  { authenticatedAt, createdAt }: SessionRecord,
  { settings }: Pick<RecencyParts, 'settings'>,
): number {
  return Date.parse(authenticatedAt ?? createdAt) + settings.reauthenticationMinutes * MINUTE_MS;
}

/** Throws `reauthentication_required` if the session has not authenticated recently. */
export function requireRecent(session: SessionRecord, parts: RecencyParts): void {
  if (recentUntil(session, parts) > parts.now()) return;
  throw ReauthenticationRequired({ minutes: parts.settings.reauthenticationMinutes });
}

/** Returns the person of a session that has authenticated recently; throws otherwise. */
export async function recentlySignedIn(cookie: string, parts: SignedInParts & RecencyParts): Promise<UserRecord> {
  const { user, record } = await signedIn(cookie, parts);
  requireRecent(record, parts);
  return user;
}
