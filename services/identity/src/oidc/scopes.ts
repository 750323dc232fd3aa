import { isKnownScope } from '@commonplace/kit/auth';
import type { JWTPayload } from 'jose';

/** Returns the known scopes in `scope` (RFC 9068) or `scp`, or the issuer's default if a token has neither. */
export function scopesOf(claims: JWTPayload, defaults: readonly string[]): readonly string[] {
  const claim = claims.scope ?? claims.scp;
  if (claim === undefined) return defaults;
  const named = Array.isArray(claim) ? claim : String(claim).split(' ');
  return [...new Set(named.filter((scope) => typeof scope === 'string').filter(isKnownScope))];
}
