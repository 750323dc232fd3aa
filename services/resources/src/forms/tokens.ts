import { createHmac, hkdfSync, randomInt } from 'node:crypto';
import type { Envelope, SecretOwner } from '@commonplace/kit/secrets';

/** The tokens of forms: found by a keyed hash, kept in an envelope. */
export interface FormTokens {
  /** A new token: its text, and what is stored of it. */
  mint(owner: SecretOwner): { readonly token: string; readonly hash: string; readonly sealed: string };
  /** The hash under the present key. */
  hash(token: string): string;
  /** Hashes under all keys, the present one first: a token made before a rotation is still found. */
  hashes(token: string): readonly string[];
  /** A token as it is shown. */
  open(sealed: string, owner: SecretOwner): string;
}

const TOKEN_CHARS = 32;
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const TOKEN = /^[0-9A-Za-z]{32}$/;

/** `masterKeys`: those of the envelope, the present one first. */
export function createFormTokens(masterKeys: readonly Buffer[], envelope: Envelope): FormTokens {
  const keys = masterKeys.map((key) =>
    Buffer.from(hkdfSync('sha256', key, '', 'commonplace/resources/form-tokens', 32)),
  );
  const hashBy = (key: Buffer, token: string) => createHmac('sha256', key).update(token).digest('base64url');
  const hash = (token: string) => hashBy(keys[0] as Buffer, token);
  return {
    mint(owner) {
      const token = Array.from({ length: TOKEN_CHARS }, () => DIGITS[randomInt(DIGITS.length)]).join('');
      return { token, hash: hash(token), sealed: envelope.seal(token, owner) };
    },
    hash,
    hashes: (token) => (TOKEN.test(token) ? keys.map((key) => hashBy(key, token)) : []),
    open: (sealed, owner) => envelope.open(sealed, owner),
  };
}
