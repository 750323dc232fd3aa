import { createHash } from 'node:crypto';
import { withoutNul } from './text.js';

/**
 * Everything that Typesense searches or filters by is written in `a-z0-9`, one token for each term or value: its
 * own tokenizer leaves that as it is, and no text can be read as syntax of its queries and filters. Letters and
 * digits stand for themselves, but for the `z` that begins an escape; so what begins alike is written alike.
 */
export type Token = string & { readonly token: unique symbol };

/** Typesense cuts tokens at 100 characters. */
const MOST_CHARACTERS = 90;
const ESCAPES: Readonly<Record<string, string>> = { z: 'zz', '-': 'zm', _: 'zu', ':': 'zk', ' ': 'zs' };
const UNESCAPED = Object.fromEntries(Object.entries(ESCAPES).map(([plain, written]) => [written, plain]));
const PLAIN = /^[a-y0-9]*$/;

function escaped(text: string): string {
  if (PLAIN.test(text)) return text;
  return text.replace(/[^a-y0-9]/g, (unit) => ESCAPES[unit] ?? `z${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** A term or the beginning of one. Those that agree in their first 18 letters of another script count as one. */
export function termToken(term: string): Token {
  const token = escaped(term);
  if (token.length <= MOST_CHARACTERS) return token as Token;
  // Not within an escape.
  return token.slice(0, MOST_CHARACTERS).replace(/z[0-9a-f]{0,3}$/, '') as Token;
}

/** Begins the token of a beginning of a term; terms themselves are in another field. */
const PREFIX = 'p';
const PAIR = 's';

export function prefixToken(beginning: string): Token {
  return `${PREFIX}${termToken(beginning)}` as Token;
}

/** Two tokens in their order as one. */
export function pairToken(first: Token, second: Token): Token {
  return `${PAIR}${digest(`${first} ${second}`, 14)}` as Token;
}

/** A value that is compared whole: different values have different tokens. */
export function valueToken(value: string): Token {
  const token = escaped(withoutNul(value));
  if (token.length <= MOST_CHARACTERS) return (token === '' ? EMPTY : token) as Token;
  return `${HASHED}${digest(value, 40)}` as Token;
}

/** Not the beginning of any escape. */
const EMPTY = 'zx';
const HASHED = 'zh';

/** The value behind a token; undefined where it was too long to be kept. */
export function tokenValue(token: string): string | undefined {
  if (token === EMPTY) return '';
  if (token.startsWith(HASHED)) return undefined;
  return token.replace(/z(?:[0-9a-f]{4}|[zmuks])/g, (written) => {
    return UNESCAPED[written] ?? String.fromCharCode(Number.parseInt(written.slice(1), 16));
  });
}

/** Letters of which a name is made that depends on a text alone. */
export function digest(text: string, length: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, length);
}
