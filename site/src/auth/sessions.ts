import { AppError, defineError } from '@commonplace/kit/errors';
import type { SignInResponse } from '@commonplace/proto/identity/v1/auth_service.js';
import type { User } from '@commonplace/proto/identity/v1/user.js';
import type { Context } from 'koa';
import { type AuthParts, callOf } from './parts.js';

const MissingCredentials = defineError('UNAUTHENTICATED', 'missing_credentials', 'Nobody is signed in.');

/** The session to which a request's cookie belongs. */
export interface Session {
  readonly cookie: string;
  readonly user: User;
  readonly csrfToken: string;
  readonly answer: SignInResponse;
}

/**
 * Returns the session of a request. Throws a 401 error if there is none, and clears a cookie that is no longer valid.
 */
export async function requireSession(ctx: Context, parts: AuthParts): Promise<Session> {
  const cookie = parts.cookie.read(ctx);
  if (cookie === undefined) throw MissingCredentials();
  try {
    const answer = await parts.auth.getSession({ session: cookie }, callOf(ctx, parts));
    if (answer.user === undefined) throw MissingCredentials();
    return { cookie, user: answer.user, csrfToken: answer.csrfToken, answer };
  } catch (error) {
    if (isUnauthenticated(error)) forgetSession(ctx, parts);
    throw error;
  }
}

/** Returns the session of a request; undefined if there is none. */
export async function findSession(ctx: Context, parts: AuthParts): Promise<Session | undefined> {
  try {
    return await requireSession(ctx, parts);
  } catch (error) {
    if (isUnauthenticated(error)) return undefined;
    throw error;
  }
}

/** Sets the cookie of a new session and ends the browser's previous session, so that it does not stay open unused. */
export async function beginSession(ctx: Context, parts: AuthParts, answer: SignInResponse): Promise<void> {
  const before = parts.cookie.read(ctx);
  parts.cookie.set(ctx, answer.session, answer.expiresAt);
  if (before !== undefined) await endSession(ctx, parts, before).catch(() => {});
}

/** Replaces the cookie of a session that continues under a new one. This process refuses the old cookie at once. */
export function renewSession(
  ctx: Context,
  parts: Pick<AuthParts, 'cookie' | 'ended'>,
  before: string,
  { session, expiresAt }: Pick<SignInResponse, 'session' | 'expiresAt'>,
): void {
  parts.cookie.set(ctx, session, expiresAt);
  parts.ended.add(before);
}

/** Ends a session. This process refuses its cookie at once. */
export async function endSession(ctx: Context, parts: AuthParts, cookie: string): Promise<void> {
  await parts.auth.signOut({ session: cookie }, callOf(ctx, parts));
  parts.ended.add(cookie);
}

/**
 * Clears the cookie and makes the browser delete its cache and storage for this origin. `"cookies"` is left out,
 * because it would sign the person out of other sites under the same domain.
 */
export function forgetSession(ctx: Context, parts: Pick<AuthParts, 'cookie'>): void {
  parts.cookie.clear(ctx);
  ctx.set('Clear-Site-Data', '"cache", "storage"');
}

function isUnauthenticated(error: unknown): boolean {
  return error instanceof AppError && error.code === 'UNAUTHENTICATED';
}
