import { randomBytes } from 'node:crypto';
import { hashedBy, keyedHash } from './keyed-hash.js';

/** Milliseconds that a person has to use their authenticator. */
export const PASSKEY_CHALLENGE_MS = 5 * 60_000;

const TIME_BYTES = 6;
const RANDOM_BYTES = 24;
const BODY_BYTES = TIME_BYTES + RANDOM_BYTES;

/** The purpose of a challenge, and the signed-in person that it is for. */
export interface ChallengeUse {
  readonly purpose: 'passkey_registration' | 'passkey_sign_in';
  /** Empty for a sign-in, where no one is signed in yet. */
  readonly userId: string;
}

/** Returns a challenge: expiry, random bytes and HMAC-SHA256 in base64url. Nothing is stored until it is used. */
export function newPasskeyChallenge(keys: readonly Buffer[], use: ChallengeUse, expires: number): string {
  const body = Buffer.alloc(BODY_BYTES);
  body.writeUIntBE(expires, 0, TIME_BYTES);
  randomBytes(RANDOM_BYTES).copy(body, TIME_BYTES);
  const signature = keyedHash(keys[0] as Buffer, signedText(use, body));
  return Buffer.concat([body, Buffer.from(signature, 'base64url')]).toString('base64url');
}

/** Returns a challenge's expiry in epoch milliseconds; undefined if it is not for this use or has expired. */
export function readPasskeyChallenge(
  keys: readonly Buffer[],
  use: ChallengeUse,
  challenge: string,
  now: number,
): number | undefined {
  const bytes = Buffer.from(challenge, 'base64url');
  // Only the canonical encoding is accepted, since another one of the same bytes would pass as an unused challenge.
  if (bytes.toString('base64url') !== challenge || bytes.length <= BODY_BYTES) return undefined;
  const body = bytes.subarray(0, BODY_BYTES);
  if (hashedBy(keys, signedText(use, body), bytes.subarray(BODY_BYTES).toString('base64url')) < 0) return undefined;
  const expires = body.readUIntBE(0, TIME_BYTES);
  return expires > now ? expires : undefined;
}

function signedText({ purpose, userId }: ChallengeUse, body: Buffer): string {
  return `${purpose} ${userId} ${body.toString('base64url')}`;
}
