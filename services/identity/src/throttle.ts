import { AppError } from '@commonplace/kit/errors';
import RateLimiterMemory from 'rate-limiter-flexible/lib/RateLimiterMemory.js';
import RateLimiterRes from 'rate-limiter-flexible/lib/RateLimiterRes.js';
import { emailKeyOf } from './domain/address.js';
import { placeOf } from './domain/networks.js';
import { RateLimited } from './errors.js';

const WINDOW_SECONDS = 15 * 60;

/** Who tries: an account's address, and the network address of the client where it is known. */
export interface Attempt {
  readonly email: string;
  readonly clientIp: string;
}

/** Slows guessing down. Counts are this process's own. */
export interface Throttle {
  /** Runs a try. Its refusal counts, its success does not. Throws `rate_limited` with the seconds to wait. */
  attempt<T>(who: Attempt, run: () => Promise<T>): Promise<T>;
}

/**
 * `tries` failures in 15 minutes for one account from one place, five times as many for a place,
 * ten times for an account: a stranger can't easily keep the owner out, nor many strangers guess on.
 * A try is counted before it runs, so that a hundred at once are not one.
 */
export function createThrottle(tries: number): Throttle {
  const limiter = (points: number) => new RateLimiterMemory({ points, duration: WINDOW_SECONDS });
  const limiters = { both: limiter(tries), place: limiter(tries * 5), account: limiter(tries * 10) };

  function keysOf({ email, clientIp }: Attempt): [RateLimiterMemory, string][] {
    const account = emailKeyOf(email);
    const place = placeOf(clientIp);
    return place === ''
      ? [[limiters.account, account]]
      : [
          [limiters.place, place],
          [limiters.both, `${place} ${account}`],
          [limiters.account, account],
        ];
  }

  return {
    async attempt(who, run) {
      const keys = keysOf(who);
      for (const [by, key] of keys) await by.consume(key).catch(refuse(by.points));
      try {
        const result = await run();
        await giveBack(keys);
        return result;
      } catch (error) {
        if (!isRefusal(error)) await giveBack(keys);
        throw error;
      }
    },
  };
}

async function giveBack(keys: readonly [RateLimiterMemory, string][]): Promise<void> {
  for (const [by, key] of keys) await by.reward(key);
}

function isRefusal(error: unknown): boolean {
  const refusals = ['UNAUTHENTICATED', 'PERMISSION_DENIED', 'NOT_FOUND', 'ALREADY_EXISTS'];
  return error instanceof AppError && refusals.includes(error.code);
}

function refuse(limit: number) {
  return (rejected: unknown): never => {
    if (!(rejected instanceof RateLimiterRes)) throw rejected;
    const seconds = Math.max(1, Math.ceil(rejected.msBeforeNext / 1000));
    const details = {
      policy: 'sign_in',
      limit,
      window_seconds: WINDOW_SECONDS,
      retry_after_seconds: seconds,
      reason: 'failed_sign_ins',
    };
    throw RateLimited(details, { retryAfter: seconds });
  };
}
