import { createHash } from 'node:crypto';
import { withoutNul } from './text.js';

/**
 * A token of the characters `a-z0-9`. Everything that Typesense searches or filters by is a token, one for each term or
 * value: its tokenizer leaves tokens unchanged, and no text can be interpreted as syntax of its queries and filters.
 * Letters and digits represent themselves, except for `z`, which begins an escape; so texts with the same beginning
 * have tokens with the same beginning.
 */
export type Token = string & { readonly token: unique symbol };

/** Maximum characters of a token; Typesense truncates tokens at 100. */
const MAX_TOKEN_CHARS = 90;
const ESCAPES: Readonly<Record<string, string>> = { z: 'zz', '-': 'zm', _: 'zu', ':': 'zk', ' ': 'zs' };
const UNESCAPED = Object.fromEntries(Object.entries(ESCAPES).map(([plain, written]) => [written, plain]));
const PLAIN = /^[a-y0-9]*$/;

function escaped(text: string): string {
  if (PLAIN.test(text)) return text;
  return text.replace(/[^a-y0-9]/g, (unit) => ESCAPES[unit] ?? `z${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Encodes a term or prefix. Terms of other scripts with the same first 18 letters get the same token. */
export function termToken(term: string): Token {
  const token = escaped(term);
  if (token.length <= MAX_TOKEN_CHARS) return token as Token;
  // Does not truncate within an escape.
  return token.slice(0, MAX_TOKEN_CHARS).replace(/z[0-9a-f]{0,3}$/, '') as Token;
}

/** First letter of the tokens of prefixes, which are in another field than terms. */
const PREFIX = 'p';
const PAIR = 's';

export function prefixToken(beginning: string): Token {
  return `${PREFIX}${termToken(beginning)}` as Token;
}

/** Encodes an ordered pair of tokens as one. */
export function pairToken(first: Token, second: Token): Token {
  return `${PAIR}${digest(`${first} ${second}`, 14)}` as Token;
}

/** Encodes a value that is compared as a whole: different values have different tokens. */
export function valueToken(value: string): Token {
  const token = escaped(withoutNul(value));
  if (token.length <= MAX_TOKEN_CHARS) return (token === '' ? EMPTY : token) as Token;
  return `${HASHED}${digest(value, 40)}` as Token;
}

/** Not the beginning of any escape. */
const EMPTY = 'zx';
const HASHED = 'zh';

/** Decodes the value of a token; undefined when it was too long to be stored. */
export function tokenValue(token: string): string | undefined {
  if (token === EMPTY) return '';
  if (token.startsWith(HASHED)) return undefined;
  return token.replace(/z(?:[0-9a-f]{4}|[zmuks])/g, (written) => {
    return UNESCAPED[written] ?? String.fromCharCode(Number.parseInt(written.slice(1), 16));
  });
}

/** Returns a hash of a text in hexadecimal, `length` digits long. */
export function digest(text: string, length: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, length);
}
