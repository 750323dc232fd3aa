import { createHmac, hkdfSync, randomInt } from 'node:crypto';
import type { Envelope, SecretOwner } from '@commonplace/kit/secrets';

/** Creates and reads the tokens of forms. They are found by a keyed hash and stored encrypted in an envelope. */
export interface FormTokens {
  /** Creates a token. Returns its text, its hash, and its encrypted form. */
  mint(owner: SecretOwner): { readonly token: string; readonly hash: string; readonly sealed: string };
  /** Returns the hash under the current key. */
  hash(token: string): string;
  /**
   * Returns the hashes under all keys, the current one first, so that a token from before a key rotation is still
   * found.
   */
  hashes(token: string): readonly string[];
  /** Decrypts a token. */
  open(sealed: string, owner: SecretOwner): string;
}

const TOKEN_CHARS = 32;
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const TOKEN = /^[0-9A-Za-z]{32}$/;

/** `masterKeys` are the keys of the envelope, the current one first. */
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
