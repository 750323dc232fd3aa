import { KNOWN_SCOPES } from './scopes.js';

/**
 * Packs scopes into one bit each, in base64url. A token with all scopes travels with every call between services, and
 * is a third as long this way. A scope's bit is its index in `KNOWN_SCOPES`, which may only be extended at its end.
 */
export function packScopes(scopes: readonly string[]): string {
  const bits = Buffer.alloc(Math.ceil(KNOWN_SCOPES.length / 8));
  for (const scope of scopes) {
    const place = (KNOWN_SCOPES as readonly string[]).indexOf(scope);
    if (place < 0) throw new Error(`${scope} is not a scope`);
    bits[place >> 3] = (bits[place >> 3] as number) | (1 << (place & 7));
  }
  return bits.toString('base64url');
}

/** Returns the scopes that `packScopes` packed, in the order of `KNOWN_SCOPES`. */
export function unpackScopes(packed: string): string[] {
  const bits = Buffer.from(packed, 'base64url');
  return KNOWN_SCOPES.filter((_, place) => ((bits[place >> 3] ?? 0) >> (place & 7)) & 1);
}
