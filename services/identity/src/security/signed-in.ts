import type { Collection } from '@commonplace/kit/store';
import type { Settings } from '../config.js';
import { isOutdated } from '../domain/session.js';
import { InvalidCredentials, ReauthenticationRequired, SecondFactorSetupRequired } from '../errors.js';
import type { OpenSession, Sessions } from '../sessions.js';
import type { SecondFactorRecord } from '../stores/second-factors.js';
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
  readonly secondFactors: Collection<SecondFactorRecord>;
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

/**
 * Returns the time until which a session may make sensitive changes, in epoch milliseconds. A session that was opened
 * by the password alone may make them until its person adds an authenticator app elsewhere: somebody who knows only the
 * password could otherwise remove or replace the app.
 */
export function recentUntil(
  { authenticatedAt, createdAt, strong = false }: SessionRecord,
  factor: SecondFactorRecord | undefined,
  { settings }: Pick<RecencyParts, 'settings'>,
): number {
  const until = Date.parse(authenticatedAt ?? createdAt) + settings.reauthenticationMinutes * MINUTE_MS;
  return strong || factor?.totp === undefined ? until : Math.min(until, Date.parse(factor.totp.addedAt));
}

/** Throws `reauthentication_required` if the session has not authenticated recently, with the app if there is one. */
export async function requireRecent(session: SessionRecord, parts: RecencyParts): Promise<void> {
  const factor = await parts.secondFactors.get(session.userId);
  if (recentUntil(session, factor, parts) > parts.now()) return;
  throw ReauthenticationRequired({ minutes: parts.settings.reauthenticationMinutes });
}

/** Returns a session that has authenticated recently, and its person; throws otherwise. */
export async function recentSession(cookie: string, parts: SignedInParts & RecencyParts): Promise<SignedIn> {
  const found = await signedIn(cookie, parts);
  await requireRecent(found.record, parts);
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
