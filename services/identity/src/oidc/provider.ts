import { boundedFetch } from '@commonplace/kit/fetch';
import { lazyLibrary } from '@commonplace/kit/library';
import { createRemoteJWKSet, customFetch, errors, type JWTVerifyGetKey } from 'jose';
import { IssuerUnavailable } from '../errors.js';
import { isAllowedUrl } from './issuers.js';

const library = lazyLibrary<typeof import('zod')>('zod', import.meta.url);

/** Timeout in milliseconds of one response from an identity provider. */
export const FETCH_MS = 5000;
/** Milliseconds after which keys are fetched again, and between two fetches for unknown keys. */
const KEYS_MS = 10 * 60_000;
const COOL_DOWN_MS = 60_000;
/** Milliseconds after which the metadata of an issuer is fetched again. */
export const DISCOVERY_MS = 60 * 60_000;
/** Milliseconds after a failure during which the issuer is not called. */
const PAUSE_MS = 5000;

function metadata() {
  const { z } = library();
  const allowedUrl = z.string().refine(isAllowedUrl);
  return z.object({ issuer: z.string(), jwks_uri: allowedUrl, userinfo_endpoint: allowedUrl.optional() });
}

/**
 * An issuer's keys and endpoints, from its own metadata (OpenID Connect Discovery 1.0). They are fetched when first
 * needed.
 */
export interface Provider {
  /** Returns the key that a token names. Throws `dependency_unavailable` if the issuer does not respond. */
  readonly keyOf: JWTVerifyGetKey;
  /** Returns the claims about the bearer of an access token; undefined if the issuer returns none. */
  userInfo(token: string): Promise<Record<string, unknown> | undefined>;
}

interface Discovered {
  readonly keyOf: JWTVerifyGetKey;
  readonly userInfoUrl: string | undefined;
}

export function createProvider(issuer: string, now: () => number): Provider {
  let discovered: Promise<Discovered> | undefined;
  let freshUntil = 0;
  let pausedUntil = 0;

  function discovery(): Promise<Discovered> {
    if (discovered === undefined || now() >= freshUntil) {
      freshUntil = now() + DISCOVERY_MS;
      discovered = discover(issuer);
    }
    return discovered;
  }

  async function ask<T>(question: () => Promise<T>): Promise<T> {
    if (now() < pausedUntil) throw IssuerUnavailable({ issuer }, { retryAfter: 5 });
    try {
      return await question();
    } catch (error) {
      if (isOfToken(error)) throw error;
      pausedUntil = now() + PAUSE_MS;
      freshUntil = 0;
      throw IssuerUnavailable({ issuer }, { retryAfter: 5, cause: error });
    }
  }

  return {
    keyOf: (header, token) => ask(async () => (await discovery()).keyOf(header, token)),
    userInfo: (token) =>
      ask(async () => {
        const { userInfoUrl } = await discovery();
        return userInfoUrl === undefined ? undefined : fetchUserInfo(userInfoUrl, token);
      }),
  };
}

/**
 * Returns whether an error is about one token only. Such an error says nothing about the issuer, and must not block
 * other tokens.
 */
function isOfToken(error: unknown): boolean {
  return (
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys ||
    error instanceof errors.JOSENotSupported
  );
}

async function discover(issuer: string): Promise<Discovered> {
  const response = await boundedFetch(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`, options());
  if (!response.ok) throw new Error(`discovery answers ${response.status}`);
  const found = metadata().parse(await response.json());
  if (found.issuer !== issuer) throw new Error(`discovery names another issuer: ${found.issuer}`);
  const keyOf = createRemoteJWKSet(new URL(found.jwks_uri), {
    cacheMaxAge: KEYS_MS,
    cooldownDuration: COOL_DOWN_MS,
    timeoutDuration: FETCH_MS,
    [customFetch]: boundedFetch,
  });
  return { keyOf, userInfoUrl: found.userinfo_endpoint };
}

/**
 * Fetches the claims about a token's bearer. An issuer that refuses the token yields undefined: it may be an ID
 * token, or lack the scope `openid`.
 */
async function fetchUserInfo(url: string, token: string): Promise<Record<string, unknown> | undefined> {
  const response = await boundedFetch(url, options({ authorization: `Bearer ${token}` }));
  if (response.status >= 500) throw new Error(`userinfo answers ${response.status}`);
  if (!response.ok || response.headers.get('content-type')?.includes('json') !== true) return undefined;
  const { z } = library();
  return z.record(z.string(), z.unknown()).parse(await response.json());
}

function options(headers: Record<string, string> = {}): RequestInit {
  return {
    redirect: 'error',
    signal: AbortSignal.timeout(FETCH_MS),
    headers: { accept: 'application/json', ...headers },
  };
}
