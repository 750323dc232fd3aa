import { AppError } from '@commonplace/kit/errors';
import { decodeJwt, errors, type JWTPayload, jwtVerify } from 'jose';
import { ExpiredCredentials, InvalidCredentials } from '../errors.js';
import type { Issuer } from './issuers.js';
import { createProvider, type Provider } from './provider.js';

/** Accepted algorithms: only those that sign with the issuer's private key, never `none` or a shared secret. */
const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA'];
const SKEW_SECONDS = 60;
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
    const { payload: claims } = await jwtVerify(token, provider.keyOf, {
      algorithms: ALGORITHMS,
      issuer: issuer.issuer,
      audience: [...issuer.audiences],
      clockTolerance: SKEW_SECONDS,
      requiredClaims: ['exp', 'sub'],
      currentDate: new Date(now()),
    }).catch(refuse);
    if (typeof claims.sub !== 'string' || claims.sub === '') throw InvalidCredentials();
    return { issuer, provider, token, subject: claims.sub, claims };
  };
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
