import { AppError } from '@commonplace/kit/errors';
import { decodeJwt, errors, type JWTPayload, jwtVerify } from 'jose';
import { ExpiredCredentials, InvalidCredentials, NoAccessToken } from '../errors.js';
import { requireAuthentication } from './authentication.js';
import type { Issuer } from './issuers.js';
import { createProvider, type Provider } from './provider.js';

/** Accepted algorithms: only those that sign with the issuer's private key, never `none` or a shared secret. */
const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA'];
/** Seconds by which an issuer's clock may differ. */
export const SKEW_SECONDS = 60;
/** Values of `typ` that an access token may have; absent in those of many issuers. */
const ACCESS_TOKEN_TYPES: readonly unknown[] = ['at+jwt', 'application/at+jwt'];
const PLAIN_TYPES: readonly unknown[] = [undefined, 'jwt'];
/** Claims that occur in ID tokens but not in access tokens (OpenID Connect Core 1.0, 3.1.3.6 and 3.3.2.11). */
const ID_TOKEN_CLAIMS = ['nonce', 'at_hash', 'c_hash'];
const MAX_TOKEN_LENGTH = 16_384;

/** A token that its issuer has signed for this server and that is currently valid. */
export interface VerifiedToken {
  readonly issuer: Issuer;
  readonly provider: Provider;
  readonly token: string;
  readonly subject: string;
  readonly claims: JWTPayload;
}

/** Creates a verifier of the issuers' JSON Web Tokens (RFC 7519, RFC 8725). It throws the errors of a 401. */
export function createTokenReader(issuers: readonly Issuer[], now: () => number) {
  const known = new Map(
    issuers.map((issuer) => [issuer.issuer, { issuer, provider: createProvider(issuer.issuer, now) }]),
  );

  return async (token: string): Promise<VerifiedToken> => {
    const found = known.get(claimedIssuer(token));
    if (found === undefined) throw InvalidCredentials();
    const { issuer, provider } = found;
    const { payload: claims, protectedHeader } = await jwtVerify(token, provider.keyOf, {
      algorithms: ALGORITHMS,
      issuer: issuer.issuer,
      audience: [...issuer.audiences],
      clockTolerance: SKEW_SECONDS,
      requiredClaims: ['exp', 'sub'],
      currentDate: new Date(now()),
    }).catch(refuse);
    if (typeof claims.sub !== 'string' || claims.sub === '') throw InvalidCredentials();
    requireAccessToken(protectedHeader.typ, claims, issuer);
    requireAuthentication(claims, issuer.authentication, { now: now(), skewSeconds: SKEW_SECONDS });
    return { issuer, provider, token, subject: claims.sub, claims };
  };
}

/**
 * Refuses tokens that their issuer has signed for another purpose: ID tokens, which tell a client who has signed in
 * and are no credential, and others that name their type, such as logout tokens.
 */
function requireAccessToken(typ: string | undefined, claims: JWTPayload, { idTokens, typedTokens }: Issuer): void {
  const type = typ?.toLowerCase();
  if (ACCESS_TOKEN_TYPES.includes(type)) return;
  const isIdToken = ID_TOKEN_CLAIMS.some((name) => claims[name] !== undefined);
  if (typedTokens || !PLAIN_TYPES.includes(type) || (isIdToken && !idTokens)) throw NoAccessToken();
}

/**
 * Returns the issuer that a token claims. It cannot be trusted before the signature is verified with that issuer's
 * keys.
 */
function claimedIssuer(token: string): string {
  if (token.length > MAX_TOKEN_LENGTH) return '';
  try {
    return decodeJwt(token).iss ?? '';
  } catch {
    return '';
  }
}

function refuse(error: unknown): never {
  if (error instanceof AppError) throw error;
  if (error instanceof errors.JWTExpired) throw ExpiredCredentials({}, { cause: error });
  throw InvalidCredentials({}, { cause: error });
}
