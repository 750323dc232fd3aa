import { crc32 } from 'node:zlib';
import { randomBase62, toBase62 } from './base62.js';

/**
 * The format of API keys: `wsk_<p|o>_<12 public id>_<40 secret><6 CRC-32>`, all in base 62 (api: 2.1). The checksum
 * covers everything before it, so that a mistyped key is refused without a lookup and scanners for leaked secrets
 * can recognize a key.
 */
const FORMAT = /^(wsk_([po])_([0-9A-Za-z]{12})_([0-9A-Za-z]{40}))([0-9A-Za-z]{6})$/;
const LETTERS = { personal: 'p', org: 'o' } as const;

export type KeyType = keyof typeof LETTERS;

/** The prefix of every API key. No JSON Web Token starts with it. */
export const KEY_PREFIX = 'wsk_';

interface ParsedKey {
  readonly type: KeyType;
  readonly publicId: string;
  readonly secret: string;
}

interface MintedKey extends ParsedKey {
  /** The complete key, which only its holder gets. */
  readonly key: string;
  /** The parts of the key that may be displayed. */
  readonly prefix: string;
  readonly last4: string;
}

/** Returns a key with a new secret; without a public id, one that has no other key. */
export function mintKey(type: KeyType, publicId = randomBase62(12)): MintedKey {
  const secret = randomBase62(40);
  const prefix = `${KEY_PREFIX}${LETTERS[type]}_${publicId}`;
  const body = `${prefix}_${secret}`;
  const key = body + checksum(body);
  return { type, publicId, secret, key, prefix, last4: key.slice(-4) };
}

/** Returns the parts of a key; undefined if its format or checksum is wrong. */
export function parseKey(text: string): ParsedKey | undefined {
  const [, body, letter, publicId, secret, sum] = FORMAT.exec(text) ?? [];
  if (body === undefined || publicId === undefined || secret === undefined) return undefined;
  if (checksum(body) !== sum) return undefined;
  return { type: letter === LETTERS.org ? 'org' : 'personal', publicId, secret };
}

function checksum(body: string): string {
  return toBase62(crc32(body), 6);
}
