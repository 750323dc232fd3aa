import { randomBytes } from 'node:crypto';
import { hash, verify } from '@node-rs/argon2';
import pLimit from 'p-limit';
import { defineError } from '../errors/index.js';

const Busy = defineError(
  'RESOURCE_EXHAUSTED',
  'concurrency_limited',
  'Too many passwords are being checked at the same time.',
);

/** Argon2id with the parameters of OWASP's Password Storage Cheat Sheet: 19 MiB, two passes, one lane. */
const ARGON2ID = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;
/**
 * Maximum numbers of concurrent and of waiting hashes. A hash takes about 50 ms of a core and one of the four I/O
 * threads.
 */
const AT_ONCE = 2;
const WAITING = 100;

export interface Passwords {
  hash(password: string): Promise<string>;
  /**
   * Verifies a password. It takes as long without a stored hash, so that its duration does not reveal whether there is
   * one.
   */
  verify(stored: string | undefined, password: string): Promise<boolean>;
}

export async function createPasswords(): Promise<Passwords> {
  const limit = pLimit(AT_ONCE);
  const nobodys = await hash(randomBytes(18).toString('base64'), ARGON2ID);

  function queued<T>(work: () => Promise<T>): Promise<T> {
    if (limit.pendingCount >= WAITING) throw Busy({}, { retryAfter: 1 });
    return limit(work);
  }

  return {
    hash: (password) => queued(() => hash(password.normalize('NFKC'), ARGON2ID)),
    async verify(stored, password) {
      const matches = await queued(() => verify(stored ?? nobodys, password.normalize('NFKC')));
      return matches && stored !== undefined;
    },
  };
}
