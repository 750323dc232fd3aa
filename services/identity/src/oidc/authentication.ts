import type { JWTPayload } from 'jose';
import { AuthenticationTooWeak } from '../errors.js';
import type { RequiredAuthentication } from './issuers.js';

/** Throws `invalid_credentials` unless a token's claims say that its person authenticated as the operator requires. */
export function requireAuthentication(
  { acr, amr, auth_time: at }: JWTPayload,
  { acrValues, amrValues, maxAgeSeconds }: RequiredAuthentication,
  { now, skewSeconds }: { readonly now: number; readonly skewSeconds: number },
): void {
  if (acrValues.length > 0 && !acrValues.includes(String(acr))) throw AuthenticationTooWeak({ claim: 'acr' });
  const methods: readonly unknown[] = Array.isArray(amr) ? amr : [];
  if (amrValues.length > 0 && !amrValues.some((one) => methods.includes(one))) {
    throw AuthenticationTooWeak({ claim: 'amr' });
  }
  if (maxAgeSeconds === undefined) return;
  if (typeof at !== 'number' || now / 1000 - at > maxAgeSeconds + skewSeconds) {
    throw AuthenticationTooWeak({ claim: 'auth_time' });
  }
}
