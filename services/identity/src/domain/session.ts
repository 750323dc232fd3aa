import { createHash, randomBytes } from 'node:crypto';
import { countedNetwork } from '@commonplace/kit/network';
import { deviceOf } from './device.js';
import { keyedHash } from './keyed-hash.js';
import type { Person } from './user.js';

/** The format of a cookie: 32 random bytes in base64url. */
const COOKIE = /^[A-Za-z0-9_-]{43}$/;
/** Prefix length of the network that an IPv6 subscriber usually has. */
const IPV6_SITE_PREFIX = 64;
/** Milliseconds by which a session's recorded last use may lag behind. */
const LAST_USE_LAG_MS = 5 * 60_000;

/** A browser session. */
export interface Session {
  readonly userId: string;
  readonly createdAt: string;
  /** The time of the last use, up to five minutes out of date. */
  readonly lastSeenAt: string;
  readonly expiresAt: string;
  /** The device and network that it was opened from; absent in sessions of earlier versions. */
  readonly device?: string;
  readonly network?: string;
  /** When the person last authenticated; if absent, `createdAt` counts. */
  readonly authenticatedAt?: string;
  /** The person's `credentialEpoch` when the session was opened; 0 when absent. */
  readonly credentialEpoch?: number;
  /** Whether it was opened or confirmed by two factors, a passkey or an identity provider. */
  readonly strong?: boolean;
  /** The session's first id, from which its CSRF token is derived, if its cookie was replaced since. */
  readonly firstId?: string;
}

/** Maximum lifetimes of sessions in milliseconds: since the last use, and in total. */
export interface SessionLife {
  readonly idleMs: number;
  readonly absoluteMs: number;
}

export function newCookie(): string {
  return randomBytes(32).toString('base64url');
}

/** Returns the session ids that a cookie may have, one per key; none if its format is wrong. */
export function sessionIdsOf(cookie: string, keys: readonly Buffer[]): string[] {
  return COOKIE.test(cookie) ? keys.map((key) => keyedHash(key, cookie)) : [];
}

/** The address and browser that a session is opened from. */
export interface SessionOrigin {
  readonly clientIp: string;
  readonly userAgent: string;
}

export function newSession(
  id: string,
  { id: userId, credentialEpoch }: Pick<Person, 'credentialEpoch'> & { readonly id: string },
  origin: SessionOrigin,
  now: number,
  life: SessionLife,
): Session & { readonly id: string } {
  const at = new Date(now).toISOString();
  const device = deviceOf(origin.userAgent);
  const network = countedNetwork(origin.clientIp, IPV6_SITE_PREFIX);
  return {
    id,
    userId,
    createdAt: at,
    lastSeenAt: at,
    expiresAt: new Date(now + life.absoluteMs).toISOString(),
    authenticatedAt: at,
    ...(credentialEpoch === undefined ? {} : { credentialEpoch }),
    ...(device === undefined ? {} : { device }),
    ...(network === '' ? {} : { network }),
  };
}

export function hasEnded(session: Session, now: number, life: SessionLife): boolean {
  return now >= Date.parse(session.expiresAt) || now >= Date.parse(session.lastSeenAt) + life.idleMs;
}

/** Returns whether the person's `credentialEpoch` has changed since the session was opened, as by a new password. */
export function isOutdated(session: Session, user: Pick<Person, 'credentialEpoch'>): boolean {
  return (session.credentialEpoch ?? 0) !== (user.credentialEpoch ?? 0);
}

/** Returns whether the recorded last use is old enough to be updated. */
export function isSeenDue(session: Session, now: number): boolean {
  return now - Date.parse(session.lastSeenAt) >= LAST_USE_LAG_MS;
}

/**
 * Returns the public id of a session for limits, logs and events. It reveals neither the session's id nor its
 * cookie.
 */
export function credentialIdOf(sessionId: string): string {
  return `ses_${createHash('sha256').update(sessionId).digest('base64url').slice(0, 22)}`;
}
