import { randomInt } from 'node:crypto';

const COUNT = 10;
const LENGTH = 12;
/** Crockford's base32 in lower case, in which no letter looks like a digit. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/** Returns ten codes of 60 random bits each, as `abcd-efgh-jkmn`. */
export function newRecoveryCodes(): string[] {
  return Array.from({ length: COUNT }, () => {
    const code = Array.from({ length: LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
    return `${code.slice(0, 4)}-${code.slice(4, 8)}-${code.slice(8)}`;
  });
}

/** Removes spaces and hyphens from a code and lower-cases it. */
export function normalizeCode(code: string): string {
  return code.replace(/[\s-]+/g, '').toLowerCase();
}
