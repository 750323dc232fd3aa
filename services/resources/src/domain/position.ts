import { randomInt } from 'node:crypto';
import { invalidField } from '@commonplace/kit/errors';
import { isUuid } from '@commonplace/kit/id';
import { generateKeyBetween, generateNKeysBetween } from 'fractional-indexing';

/** The requested position of a node among its siblings. */
export type RequestedPosition = { at: 'first' | 'last' } | { after: string } | { before: string };

/**
 * Reads `"first"`, `"last"`, `{"after_id": …}` or `{"before_id": …}`; returns last for an empty buffer. Throws
 * `invalid_value`.
 */
export function parsePosition(json: Buffer): RequestedPosition {
  const value: unknown = json.length === 0 ? 'last' : JSON.parse(json.toString());
  if (value === 'first' || value === 'last') return { at: value };
  if (typeof value === 'object' && value !== null) {
    const [[key, id] = [], ...others] = Object.entries(value);
    if (others.length === 0 && typeof id === 'string' && isUuid(id)) {
      if (key === 'after_id') return { after: id };
      if (key === 'before_id') return { before: id };
    }
  }
  throw invalidField(
    'position',
    'invalid_value',
    'position is "first", "last", {"after_id": id} or {"before_id": id}.',
  );
}

/**
 * Returns a key between the keys of two siblings; null is the end of the list. Between equal keys it returns the same
 * key, and ids break the tie.
 */
export function keyBetween(before: string | null, after: string | null): string {
  return before !== null && before === after ? before : generateKeyBetween(before, after);
}

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** Random digits at the end of a key: of 10 concurrent calls two get one key in a case of 300,000. */
const RANDOM_DIGITS = 4;
/**
 * Keys of this length or more get no random digits, which would make each of many keys at one place longer than the one
 * before.
 */
const MAX_RANDOM_CHARS = 64;
const MAX_TRIES = 4;

/**
 * Returns a new key between two different ones; null is the end of the list. It ends at random, so that concurrent calls
 * for one place get different keys.
 */
export function randomKeyBetween(before: string | null, after: string | null): string {
  const middle = generateKeyBetween(before, after);
  let key = middle;
  for (let tries = 0; tries < MAX_TRIES && key.length < MAX_RANDOM_CHARS; tries++) {
    const random = key + randomDigits();
    if (after === null || random < after) return random;
    key = generateKeyBetween(before, key);
  }
  return middle;
}

/** Returns random digits, the last of which is not 0, as the end of a key must be. */
function randomDigits(): string {
  let digits = '';
  while (digits.length < RANDOM_DIGITS - 1) digits += DIGITS[randomInt(DIGITS.length)];
  return digits + DIGITS[randomInt(1, DIGITS.length)];
}

/** Returns keys in order between two different ones; null is the end of the list. */
export function keysBetween(before: string, after: string | null, count: number): string[] {
  return generateNKeysBetween(before, after, count);
}
