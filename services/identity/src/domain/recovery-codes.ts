import { randomInt } from 'node:crypto';

const COUNT = 10;
const GROUPS = 7;
const GROUP_LENGTH = 4;
/** Crockford's base32 in lower case, in which no letter looks like a digit. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/** Returns ten codes of 140 random bits each, in groups of four characters: `abcd-efgh-jkmn-…`. */
export function newRecoveryCodes(): string[] {
  const letter = () => ALPHABET[randomInt(ALPHABET.length)] as string;
  const group = () => Array.from({ length: GROUP_LENGTH }, letter).join('');
  return Array.from({ length: COUNT }, () => Array.from({ length: GROUPS }, group).join('-'));
}

/** Removes spaces and hyphens from a code and lower-cases it. */
export function normalizeCode(code: string): string {
  return code.replace(/[\s-]+/g, '').toLowerCase();
}
