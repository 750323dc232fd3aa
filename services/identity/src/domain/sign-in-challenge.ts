import { hashedBy, keyedHash } from './keyed-hash.js';

/** Milliseconds within which a code has to follow the password. */
export const CHALLENGE_MS = 5 * 60_000;

/** Proves that a person has just entered their password. */
interface SignInChallenge {
  readonly userId: string;
  /** The person's `credentialEpoch` at that time: a new password invalidates the challenge. */
  readonly epoch: number;
  /** Epoch milliseconds. */
  readonly expires: number;
}

/** Returns `<payload>.<HMAC-SHA256 of it>`. Nothing is stored. */
export function signChallenge(keys: readonly Buffer[], { userId, epoch, expires }: SignInChallenge): string {
  const text = Buffer.from(JSON.stringify([userId, epoch, expires])).toString('base64url');
  return `${text}.${keyedHash(keys[0] as Buffer, text)}`;
}

/** Returns the payload of a challenge; undefined if no key has signed it or it has expired. */
export function readChallenge(keys: readonly Buffer[], challenge: string, now: number): SignInChallenge | undefined {
  const [text = '', signature = '', ...more] = challenge.split('.');
  if (more.length > 0 || hashedBy(keys, text, signature) < 0) return undefined;
  const [userId, epoch, expires] = JSON.parse(Buffer.from(text, 'base64url').toString()) as [string, number, number];
  return expires > now ? { userId, epoch, expires } : undefined;
}
