import { AppError, defineError } from '@commonplace/kit/errors';
import type { SignInResponse } from '@commonplace/proto/identity/v1/auth_service.js';
import type { User } from '@commonplace/proto/identity/v1/user.js';
import type { Context } from 'koa';
import { type AuthParts, callOf } from './parts.js';

const MissingCredentials = defineError('UNAUTHENTICATED', 'missing_credentials', 'Nobody is signed in.');

/** Somebody's session, as the cookie of a request brings it. */
export interface Session {
  readonly cookie: string;
  readonly user: User;
  readonly csrfToken: string;
  readonly answer: SignInResponse;
}

/** The session of a request. Throws the reasons of a 401, and takes a cookie back that is worth nothing. */
export async function requireSession(ctx: Context, parts: AuthParts): Promise<Session> {
  const cookie = parts.cookie.read(ctx);
  if (cookie === undefined) throw MissingCredentials();
  try {
    const answer = await parts.auth.getSession({ session: cookie }, callOf(ctx, parts));
    if (answer.user === undefined) throw MissingCredentials();
    return { cookie, user: answer.user, csrfToken: answer.csrfToken, answer };
  } catch (error) {
    if (isUnauthenticated(error)) parts.cookie.clear(ctx);
    throw error;
  }
}

/** The session of a request, if there is one. */
export async function findSession(ctx: Context, parts: AuthParts): Promise<Session | undefined> {
  try {
    return await requireSession(ctx, parts);
  } catch (error) {
    if (isUnauthenticated(error)) return undefined;
    throw error;
  }
}

/** Gives the browser its new session; one that it had before ends, so that none is left behind. */
export async function beginSession(ctx: Context, parts: AuthParts, answer: SignInResponse): Promise<void> {
  const before = parts.cookie.read(ctx);
  parts.cookie.set(ctx, answer.session, answer.expiresAt);
  if (before !== undefined) await endSession(ctx, parts, before).catch(() => {});
}

/** Ends a session, here at once. */
export async function endSession(ctx: Context, parts: AuthParts, cookie: string): Promise<void> {
  await parts.auth.signOut({ session: cookie }, callOf(ctx, parts));
  parts.ended.add(cookie);
}

function isUnauthenticated(error: unknown): boolean {
  return error instanceof AppError && error.code === 'UNAUTHENTICATED';
}
