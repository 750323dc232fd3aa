import { randomBytes } from 'node:crypto';

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** The greatest multiple of 62 in a byte. Greater values are dropped, since they would favour the first digits. */
const MAX_UNBIASED_BYTE = 248;

/** Returns uniformly random base-62 digits, 5.95 bits each. */
export function randomBase62(length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      if (byte < MAX_UNBIASED_BYTE && text.length < length) text += DIGITS[byte % 62];
    }
  }
  return text;
}

/** Encodes a non-negative integer in base 62, padded with zeros to `length`. */
export function toBase62(number: number, length: number): string {
  let text = '';
  for (let rest = number; rest > 0; rest = Math.floor(rest / 62)) text = DIGITS[rest % 62] + text;
  return text.padStart(length, '0');
}
