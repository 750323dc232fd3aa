import { AppError } from '@commonplace/kit/errors';
import type { Claim, Rate, Reservation, StoredLimit } from '@commonplace/kit/limits';
import { countedNetwork } from '@commonplace/kit/network';
import { foldEmail } from '@commonplace/kit/words';
import { RateLimited } from './errors.js';

type Refused = Extract<Reservation, { granted: false }>;

const WINDOW_SECONDS = 15 * 60;

/** The account and the network that an attempt is counted for. */
interface Attempt {
  /** The e-mail address of the account. If it is empty, the attempt counts for its network only. */
  readonly email: string;
  /** The network address of the client; empty if it is not known. */
  readonly clientIp: string;
}

/** Limits of a network (`place`) and of an account, as multiples of the limit for one account from one network. */
interface AttemptFactors {
  readonly place: number;
  readonly account: number;
}

export const PASSWORD_ATTEMPT_FACTORS: AttemptFactors = { place: 5, account: 10 };
/**
 * Factors for attempts at codes. Codes have few digits, and whoever tries one knows the password, so all networks
 * together get no more attempts than a single network.
 */
export const CODE_ATTEMPT_FACTORS: AttemptFactors = { place: 5, account: 1 };

interface ThrottleTerms {
  /** Separates the counts of this throttle from those of others. */
  readonly name: string;
  readonly tries: number;
  readonly ipv6Prefix: number;
  readonly factors: AttemptFactors;
}

/** Slows guessing down by limiting failed attempts. */
export interface Throttle {
  /** Runs an attempt. A refusal counts, a success does not. Throws `rate_limited` with the seconds to wait. */
  attempt<T>(who: Attempt, run: () => Promise<T>): Promise<T>;
}

/** Limits requests that send e-mail. Every request counts, whether or not the account exists. */
export interface MailThrottle {
  /** Counts a request. Throws `rate_limited` with the seconds to wait. */
  spend(who: Attempt): Promise<void>;
}

const MAIL_WINDOW_SECONDS = 3600;

/**
 * Creates a throttle that allows `requests` per hour for one address and ten times as many for one network. Counts
 * are stored like those of attempts.
 */
export function createMailThrottle(limits: StoredLimit, requests: number, ipv6Prefix: number): MailThrottle {
  const rate = (factor: number): Rate => ({
    count: requests * factor,
    windowMs: MAIL_WINDOW_SECONDS * 1000,
    comesBack: 'together',
  });
  return {
    async spend(who) {
      const { place, account } = keysOf(who, ipv6Prefix);
      const claims: Claim[] = [];
      if (place !== '') claims.push({ key: ['mail', 'place', place], rate: rate(10) });
      if (account !== '') claims.push({ key: ['mail', 'account', account], rate: rate(1) });
      const reserved = await limits.reserve(claims);
      if (!reserved.granted) throw tooMany(reserved, { policy: 'mail', reason: 'mail_requests' });
    },
  };
}

/**
 * Creates a throttle that allows `tries` failures in 15 minutes for one account from one network, and multiples of that
 * for a network and for an account: a stranger cannot easily lock out the owner, and many strangers cannot guess
 * without limit. An attempt is reserved in the store before it runs and released unless it was refused, so that
 * concurrent attempts on any number of replicas never exceed the limit. While no attempt is left, but some run in this
 * process that may succeed, further ones wait for these.
 */
export function createThrottle(limits: StoredLimit, terms: ThrottleTerms): Throttle {
  const attempts = new Set<RunningAttempt>();

  /** Reserves an attempt; while others that began before it may succeed, it waits for these. */
  async function reserve(claims: readonly Claim[], earlier: readonly RunningAttempt[]): Promise<() => Promise<void>> {
    for (;;) {
      const running = earlier.filter((one) => attempts.has(one));
      const reserved = await limits.reserve(claims);
      if (reserved.granted) return reserved.release;
      const key = textOf(reserved.claim);
      const others = running.filter(({ keys }) => keys.includes(key));
      if (others.length === 0 || others.length > MAX_AWAITED) {
        throw tooMany(reserved, { policy: 'sign_in', reason: 'failed_sign_ins' });
      }
      await Promise.race(others.map(({ ended }) => ended));
    }
  }

  async function runReserved<T>(run: () => Promise<T>, release: () => Promise<void>): Promise<T> {
    try {
      const result = await run();
      await release();
      return result;
    } catch (error) {
      if (!isRefusal(error)) await release();
      throw error;
    }
  }

  return {
    async attempt(who, run) {
      const claims = claimsOf(who, terms);
      const result = reserve(claims, [...attempts]).then((release) => runReserved(run, release));
      const one: RunningAttempt = { keys: claims.map(textOf), ended: result.catch(() => {}) };
      attempts.add(one);
      return result.finally(() => attempts.delete(one));
    },
  };
}

/**
 * Maximum number of earlier attempts that one waits for. Each of those that wait reserves again whenever an earlier one
 * has ended, so a flood of guesses must not wait.
 */
const MAX_AWAITED = 50;

/** An attempt that runs in this process, or waits to run. */
interface RunningAttempt {
  /** Keys of its claims, as `textOf` returns them. */
  readonly keys: readonly string[];
  /** Resolves when it has ended and, if it succeeded, has released what it had reserved. */
  readonly ended: Promise<unknown>;
}

const textOf = ({ key }: Claim): string => key.join(' ');

/** Returns the keys that an attempt is counted by. */
function keysOf({ email, clientIp }: Attempt, ipv6Prefix: number) {
  return { place: countedNetwork(clientIp, ipv6Prefix), account: foldEmail(email) };
}

function claimsOf(who: Attempt, { name, tries, ipv6Prefix, factors }: ThrottleTerms): Claim[] {
  const rate = (factor: number): Rate => ({
    count: tries * factor,
    windowMs: WINDOW_SECONDS * 1000,
    comesBack: 'together',
  });
  const { place, account } = keysOf(who, ipv6Prefix);
  const claims: Claim[] = [];
  if (place !== '') claims.push({ key: [name, 'place', place], rate: rate(factors.place) });
  if (place !== '' && account !== '') claims.push({ key: [name, 'both', place, account], rate: rate(1) });
  // Attempts without an account are not counted by account, since all of them would share that count.
  if (account !== '') claims.push({ key: [name, 'account', account], rate: rate(factors.account) });
  return claims;
}

function isRefusal(error: unknown): boolean {
  const refusals = ['UNAUTHENTICATED', 'PERMISSION_DENIED', 'NOT_FOUND', 'ALREADY_EXISTS'];
  return error instanceof AppError && refusals.includes(error.code);
}

function tooMany({ claim, retryAfterSeconds: seconds }: Refused, why: { policy: string; reason: string }): AppError {
  const { count: limit, windowMs } = claim.rate;
  const details = { ...why, limit, window_seconds: windowMs / 1000, retry_after_seconds: seconds };
  return RateLimited(details, { retryAfter: seconds });
}
