import type { Claim, Rate, StoredLimit } from '@commonplace/kit/limits';
import { countedNetwork } from '@commonplace/kit/network';
import { SignUpsLimited } from './errors.js';

const HOUR_SECONDS = 3600;
const WINDOW_MS = HOUR_SECONDS * 1000;

export interface SignUpLimit {
  /**
   * Runs a sign-up without an invitation, within the hourly limits of its network and of all networks together. A
   * failed sign-up does not count. Throws `rate_limited` with the seconds to wait.
   */
  count<T>(clientIp: string, signUp: () => Promise<T>): Promise<T>;
}

interface SignUpRates {
  readonly perNetwork: number;
  readonly perHour: number;
  readonly ipv6Prefix: number;
}

export function createSignUpLimit(limit: StoredLimit, rates: SignUpRates): SignUpLimit {
  const hourly = (count: number): Rate => ({ count, windowMs: WINDOW_MS, comesBack: 'gradually' });
  const total: Claim = { key: ['sign-up'], rate: hourly(rates.perHour) };

  function claimsOf(clientIp: string): Claim[] {
    const network = countedNetwork(clientIp, rates.ipv6Prefix);
    if (network === '') return [total];
    return [{ key: ['sign-up', network], rate: hourly(rates.perNetwork) }, total];
  }

  return {
    async count(clientIp, signUp) {
      const reserved = await limit.reserve(claimsOf(clientIp));
      if (!reserved.granted) {
        const { claim, retryAfterSeconds: retryAfter } = reserved;
        const details = {
          policy: claim === total ? 'sign_up_total' : 'sign_up',
          limit: claim.rate.count,
          window_seconds: HOUR_SECONDS,
          retry_after_seconds: retryAfter,
          reason: 'quota',
        };
        throw SignUpsLimited(details, { retryAfter });
      }
      try {
        return await signUp();
      } catch (error) {
        await reserved.release();
        throw error;
      }
    },
  };
}

/** Used if an operator has switched rate limits off. */
export const NO_SIGN_UP_LIMIT: SignUpLimit = { count: (_, signUp) => signUp() };
