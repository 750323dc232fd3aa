import { timingSafeEqual } from 'node:crypto';
import type { Caller } from '@commonplace/kit/auth';
import { maxEntries } from '@commonplace/kit/cache';
import { before } from '@commonplace/kit/deadline';
import {
  AnswerLost,
  AppError,
  defineError,
  defineForbidden,
  defineInvalid,
  invalidField,
  Timeout,
  Unavailable,
} from '@commonplace/kit/errors';
import type { EndedSessions } from '@commonplace/kit/http';
import { isOwnOrigin } from '@commonplace/kit/http';
import { fingerprint } from '@commonplace/kit/id';
import type { CallOptions, Client } from '@commonplace/kit/rpc';
import type { Host } from '@commonplace/platform/runtime';
import {
  type AuthenticateRequest,
  type AuthService,
  CredentialKind,
} from '@commonplace/proto/identity/v1/auth_service.js';
import type { Context, Middleware } from 'koa';
import { LRUCache } from 'lru-cache';
import type { FailureLimit } from './rate-limit.js';
import type { Admitted, State } from './state.js';

const MissingCredentials = defineError('UNAUTHENTICATED', 'missing_credentials', 'A credential is required.');
const MultipleCredentials = defineInvalid('multiple_credentials', 'Send one credential: a session or a bearer token.');
const SessionEnded = defineError('UNAUTHENTICATED', 'invalid_credentials', 'The session has ended.');
const CsrfFailed = defineForbidden('csrf_failed', 'X-CSRF-Token is missing or is not this session’s.');
const ForeignPage = defineForbidden('csrf_failed', 'The request comes from a page of another address than {address}.');

/**
 * Milliseconds for which an authenticated credential is cached. Changes that this process receives clear the cache; if
 * none arrives, a revoked credential is accepted for less than a second.
 */
const CACHE_MS = 900;

export interface AuthenticateParts {
  readonly auth: Client<AuthService>;
  verifyCaller(token: string): Caller | Promise<Caller>;
  readonly cookieName: string;
  /** Sessions that have ended but may still be cached. */
  readonly ended: EndedSessions;
  readonly publicOrigin: string;
  readonly failures: FailureLimit;
  /**
   * Subscribes to changes made in this process, which are delivered before the write is answered; undefined if other
   * processes make the changes.
   */
  readonly watch: Host['watchOwn'];
  /** Milliseconds to wait for the identity service. */
  readonly timeoutMs: number;
}

/** Authenticates the caller. It is the first gate. A successful authentication is cached for less than a second. */
export function authenticate(parts: AuthenticateParts): Middleware<State> {
  const cache = new LRUCache<string, Promise<Admitted>>({
    ...maxEntries(20_000),
    ttl: CACHE_MS,
    ttlResolution: 20,
  });

  void parts.watch?.(CHANGES, () => cache.clear());

  return async (ctx, next) => {
    const { kind, credential } = credentialOf(ctx, parts.cookieName);
    const tenant = header(ctx, 'x-tenant');
    const workspace = header(ctx, 'x-workspace-id');
    const { clientIp } = ctx.state;
    const key = `${kind}\n${credential}\n${tenant}\n${workspace}\n${clientIp}`;
    const renew = (): Promise<Admitted> => {
      if (kind === CredentialKind.SESSION && parts.ended.has(credential)) return Promise.reject(SessionEnded());
      const known = cache.get(key);
      if (known !== undefined) return known;
      const asked = admit(parts, { kind, credential, tenant, workspaceId: workspace, clientIp }, ctx.state);
      cache.set(key, asked);
      asked.catch(() => cache.delete(key));
      return asked;
    };
    ctx.state.renew = renew;
    try {
      ctx.state.admitted = await renew();
    } catch (error) {
      if (error instanceof AppError && error.code === 'UNAUTHENTICATED') await parts.failures.count(ctx);
      throw error;
    }
    refuseEmpty(ctx, 'X-Tenant', '`personal` or the id of an Org');
    refuseEmpty(ctx, 'X-Workspace-Id', 'the id of a workspace');
    if (kind === CredentialKind.SESSION && !isSafe(ctx.method))
      requireCsrf(ctx, ctx.state.admitted, parts.publicOrigin);
    await next();
    // Guarantees that a credential which a write through this process revoked is refused once the write is answered,
    // even if another process made the change.
    if (!isSafe(ctx.method) && CREDENTIAL_PATHS.test(ctx.path)) cache.clear();
  };
}

/**
 * Events after which a credential may authenticate differently: those of people, keys, sessions, Orgs, workspaces and
 * their members.
 */
const CHANGES = ['commonplace.identity.>', 'commonplace.tenancy.>'];
const CREDENTIAL_PATHS = /^\/api\/v1\/(?:orgs|api-keys|workspaces\/[^/]+\/members)(?:\/|$)/;

function header(ctx: Context, name: string): string {
  const value = ctx.req.headers[name];
  return typeof value === 'string' ? value : '';
}

/** Refuses a header that is present but empty, because the client meant to narrow the request and made a mistake. */
function refuseEmpty(ctx: Context, name: string, wanted: string): void {
  if (ctx.req.headers[name.toLowerCase()] === '') {
    throw invalidField(name, 'invalid_id', `${name} is empty. Send ${wanted}, or leave the header out.`);
  }
}

async function admit(
  parts: AuthenticateParts,
  request: AuthenticateRequest,
  { requestId, traceparent }: State,
): Promise<Admitted> {
  const options: CallOptions = { metadata: { requestId, traceparent }, deadline: Date.now() + parts.timeoutMs };
  const { token, csrfToken, credentialId } = await askIdentity(parts.auth, request, options);
  const verified = parts.verifyCaller(token);
  const caller = verified instanceof Promise ? await before(options.deadline, verified) : verified;
  return { caller, token, csrfToken, credentialId };
}

/**
 * Authenticates, once more if the process of identity died before its answer. The request itself has not begun: if
 * identity gives no answer, that nothing was done is known.
 */
async function askIdentity(auth: AuthenticateParts['auth'], request: AuthenticateRequest, options: CallOptions) {
  try {
    return await auth.authenticate(request, options).catch((error: unknown) => {
      if (!isLike(error, AnswerLost())) throw error;
      return auth.authenticate(request, options);
    });
  } catch (error) {
    const isUnanswered = isLike(error, AnswerLost()) || isLike(error, Timeout());
    throw isUnanswered ? Unavailable({}, { cause: error, retryAfter: 1 }) : error;
  }
}

function isLike(error: unknown, { code, reason }: AppError): boolean {
  return error instanceof AppError && error.code === code && error.reason === reason;
}

/**
 * Returns the only credential of a request: a session cookie, bearer token or key. Throws if there is none or more than
 * one.
 */
function credentialOf(ctx: Context, cookieName: string): { kind: CredentialKind; credential: string } {
  const authorization = ctx.req.headers.authorization ?? '';
  const session = ctx.req.headers.cookie === undefined ? undefined : ctx.cookies.get(cookieName);
  if (authorization !== '' && session !== undefined) throw MultipleCredentials();
  if (session !== undefined) return { kind: CredentialKind.SESSION, credential: session };
  const [scheme = '', token = '', ...rest] = authorization.split(' ');
  if (authorization === '') throw MissingCredentials();
  if (scheme.toLowerCase() !== 'bearer' || token === '' || rest.length > 0) {
    throw new AppError('UNAUTHENTICATED', 'invalid_credentials', 'Send the credential as "Authorization: Bearer …".');
  }
  return { kind: CredentialKind.BEARER, credential: token };
}

export function isSafe(method: string): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
}

/**
 * Requires that a write with a session sends the session's CSRF token and, if it has an `Origin`, comes from our own
 * pages.
 */
function requireCsrf(ctx: Context, { csrfToken }: Admitted, publicOrigin: string): void {
  const origin = ctx.get('Origin');
  if (origin !== '' && !isOwnOrigin(origin, publicOrigin)) throw ForeignPage({ address: publicOrigin });
  const given = Buffer.from(fingerprint(ctx.get('X-CSRF-Token')));
  if (!timingSafeEqual(given, Buffer.from(fingerprint(csrfToken)))) throw CsrfFailed();
}
