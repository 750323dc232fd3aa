import type { Collection } from '@commonplace/kit/store';
import type { Settings } from '../config.js';
import { isOutdated } from '../domain/session.js';
import { InvalidCredentials, ReauthenticationRequired, SecondFactorSetupRequired } from '../errors.js';
import type { OpenSession, Sessions } from '../sessions.js';
import type { SessionRecord } from '../stores/sessions.js';
import { activeUser, type UserRecord } from '../stores/users.js';

const MINUTE_MS = 60_000;

/** Dependencies for finding the session of a cookie and its person. */
export interface SignedInParts {
  readonly sessions: Sessions;
  readonly users: Collection<UserRecord>;
}

/** Dependencies for deciding whether a session has authenticated recently. */
export interface RecencyParts {
  readonly settings: Pick<Settings, 'reauthenticationMinutes'>;
  /** Returns the current time in epoch milliseconds. */
  readonly now: () => number;
}

/** Dependencies for deciding whether a session needs a second factor. */
export interface StrengthParts {
  readonly settings: Pick<Settings, 'secondFactor' | 'publicUrl'>;
}

/** A valid session and its person. */
export interface SignedIn extends OpenSession {
  readonly user: UserRecord;
}

/** Returns the session of a cookie and its person. Throws the errors of a 401. */
export async function signedIn(cookie: string, { sessions, users }: SignedInParts): Promise<SignedIn> {
  const { record, csrfToken } = await sessions.open(cookie);
  const user = await activeUser(users, record.userId);
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

/** Returns a session that has authenticated recently, and its person; throws otherwise. */
export async function recentSession(cookie: string, parts: SignedInParts & RecencyParts): Promise<SignedIn> {
  const found = await signedIn(cookie, parts);
  requireRecent(found.record, parts);
  return found;
}

/** Returns the person of a session that has authenticated recently; throws otherwise. */
export async function recentlySignedIn(cookie: string, parts: SignedInParts & RecencyParts): Promise<UserRecord> {
  return (await recentSession(cookie, parts)).user;
}

/**
 * Returns whether a session may do nothing but set up a second factor: the operator requires one, and the session of
 * this local account was opened by a password alone.
 */
export function lacksStrength(
  { strong = false }: SessionRecord,
  { passwordHash }: UserRecord,
  { settings }: StrengthParts,
): boolean {
  return settings.secondFactor === 'required' && passwordHash !== undefined && !strong;
}

/** Throws `second_factor_required` if a session may do nothing but set up a second factor. */
export function requireStrength(session: SessionRecord, user: UserRecord, parts: StrengthParts): void {
  if (!lacksStrength(session, user, parts)) return;
  throw SecondFactorSetupRequired({ url: `${parts.settings.publicUrl}/auth/account` });
}
