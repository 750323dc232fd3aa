import { AppError } from '@commonplace/kit/errors';
import type { CallOptions, Client } from '@commonplace/kit/rpc';
import type { ActAsRequest, AuthService } from '@commonplace/proto/identity/v1/auth_service.js';
import { LRUCache } from 'lru-cache';

/**
 * Milliseconds for which a token is used again, so that an account that was disabled acts no longer. A token is valid for
 * long enough to outlast a slow call.
 */
const REUSE_MS = 1_000;
/** Maximum number of tokens kept in memory. */
const MAX_TOKENS = 1_000;

export interface ActAsParts {
  readonly auth: Pick<Client<AuthService>, 'actAs'>;
  readonly systemCall: (timeoutMs?: number) => CallOptions;
}

/**
 * Returns the options of a call on behalf of a person, with a deadline after `timeoutMs`. A request that differs in
 * anything gets a token of its own, so that a change of rights takes effect at once. Rejects with the error of the
 * identity service, for which `isAccessLost` tells whether the person has lost access.
 */
type ActAs = (request: ActAsRequest, timeoutMs: number) => Promise<CallOptions>;

/** Creates tokens for background work on behalf of people. Tokens are kept in memory only. */
export function createActAs({ auth, systemCall }: ActAsParts): ActAs {
  const tokens = new LRUCache<string, string>({ max: MAX_TOKENS, ttl: REUSE_MS });
  return async (request, timeoutMs) => {
    const key = JSON.stringify(request);
    let token = tokens.get(key);
    if (token === undefined) {
      const start = performance.now();
      token = (await auth.actAs(request, systemCall())).token;
      tokens.set(key, token, { start });
    }
    const options = systemCall(timeoutMs);
    return { ...options, metadata: { ...options.metadata, token }, deadline: Date.now() + timeoutMs };
  };
}

/**
 * Returns whether the error means that a person has lost access. Other errors are worth another attempt, also that a
 * token has expired during a slow call.
 */
export function isAccessLost(error: unknown): error is AppError {
  return error instanceof AppError && REFUSALS.has(error.code);
}

const REFUSALS: ReadonlySet<AppError['code']> = new Set(['PERMISSION_DENIED', 'NOT_FOUND']);
