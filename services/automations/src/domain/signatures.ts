import { createHmac, timingSafeEqual } from 'node:crypto';

const DIGEST_BYTES = 32;
const HEX = /^[0-9a-fA-F]{64}$/;
const BASE64 = /^[A-Za-z0-9+/_-]{43}=?$/;
const PREFIX = 'sha256=';

/**
 * Returns whether a text is the HMAC-SHA256 of a body, in hexadecimal or base64, with or without the prefix `sha256=`.
 * The comparison takes constant time.
 */
export function isHmacOf(body: string, secret: string, given: string): boolean {
  const digest = readDigest(given.trim());
  if (digest === undefined) return false;
  return timingSafeEqual(digest, createHmac('sha256', secret).update(body, 'utf8').digest());
}

function readDigest(text: string): Buffer | undefined {
  const encoded = text.startsWith(PREFIX) ? text.slice(PREFIX.length) : text;
  if (HEX.test(encoded)) return Buffer.from(encoded, 'hex');
  if (!BASE64.test(encoded)) return undefined;
  const digest = Buffer.from(encoded, 'base64');
  return digest.length === DIGEST_BYTES ? digest : undefined;
}
