import { createHash, randomBytes } from 'node:crypto';
import type { SessionRecord } from '../stores/sessions.js';
import { keyedHash } from './keyed-hash.js';

/** The form of a cookie: 32 random bytes in base64url. */
const COOKIE = /^[A-Za-z0-9_-]{43}$/;
/** How far a session's last use may lag behind. */
const SEEN_MS = 5 * 60_000;

/** How long sessions last, in milliseconds. */
export interface SessionLife {
  readonly idleMs: number;
  readonly absoluteMs: number;
}

export function newCookie(): string {
  return randomBytes(32).toString('base64url');
}

/** The ids that a cookie may have, one for each key; none where it has not the form of a cookie. */
export function sessionIdsOf(cookie: string, keys: readonly Buffer[]): string[] {
  return COOKIE.test(cookie) ? keys.map((key) => keyedHash(key, cookie)) : [];
}

export function newSession(id: string, userId: string, now: number, life: SessionLife): Omit<SessionRecord, 'version'> {
  const at = new Date(now).toISOString();
  return { id, userId, createdAt: at, lastSeenAt: at, expiresAt: new Date(now + life.absoluteMs).toISOString() };
}

export function hasEnded(session: SessionRecord, now: number, life: SessionLife): boolean {
  return now >= Date.parse(session.expiresAt) || now >= Date.parse(session.lastSeenAt) + life.idleMs;
}

/** Whether its last use is worth writing down. */
export function isSeenDue(session: SessionRecord, now: number): boolean {
  return now - Date.parse(session.lastSeenAt) >= SEEN_MS;
}

/** Names a session in limits, logs and events; nobody gets from it to the session's id or cookie. */
export function credentialIdOf(sessionId: string): string {
  return `ses_${createHash('sha256').update(sessionId).digest('base64url').slice(0, 22)}`;
}
