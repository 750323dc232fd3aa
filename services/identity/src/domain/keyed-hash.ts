import { createHmac, timingSafeEqual } from 'node:crypto';

/** HMAC-SHA256 in base64url. */
export function keyedHash(key: Buffer, text: string): string {
  return createHmac('sha256', key).update(text).digest('base64url');
}

/** Which of the keys made the hash of a text, compared in constant time; -1 for none. */
export function hashedBy(keys: readonly Buffer[], text: string, hash: string): number {
  const expected = Buffer.from(hash);
  return keys.findIndex((key) => {
    const made = Buffer.from(keyedHash(key, text));
    return made.length === expected.length && timingSafeEqual(made, expected);
  });
}
