import { createHmac, timingSafeEqual } from 'node:crypto';

/** Returns the HMAC-SHA256 of a text in base64url. */
export function keyedHash(key: Buffer, text: string): string {
  return createHmac('sha256', key).update(text).digest('base64url');
}

/** Returns the index of the key that made the hash of a text, or -1. Compares in constant time. */
export function hashedBy(keys: readonly Buffer[], text: string, hash: string): number {
  const expected = Buffer.from(hash);
  return keys.findIndex((key) => {
    const made = Buffer.from(keyedHash(key, text));
    return made.length === expected.length && timingSafeEqual(made, expected);
  });
}
