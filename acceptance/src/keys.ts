import { crc32 } from 'node:zlib';

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Returns a well-formed key with a valid checksum that was never issued (api: 2.1). */
export function inventedKey(publicId = 'A1b2C3d4E5f6'): string {
  const body = `wsk_p_${publicId}_${'Zz9'.repeat(14).slice(0, 40)}`;
  return body + checksum(body);
}

/** Returns a key in which one character of the secret is changed. */
export function mistypedKey(key: string): string {
  const at = key.length - 20;
  return key.slice(0, at) + (key[at] === 'a' ? 'b' : 'a') + key.slice(at + 1);
}

/** Returns the public part of a key. */
export function publicIdOf(key: string): string {
  return key.split('_')[2] ?? '';
}

function checksum(body: string): string {
  let text = '';
  for (let rest = crc32(body); rest > 0; rest = Math.floor(rest / 62)) text = DIGITS[rest % 62] + text;
  return text.padStart(6, '0');
}
