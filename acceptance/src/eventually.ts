import { setTimeout as sleep } from 'node:timers/promises';
import { PATIENCE } from '@commonplace/kit/testing/patience';

/**
 * Minimum and maximum milliseconds between two attempts. Each attempt costs a request, so the interval grows with the
 * time waited.
 */
const [MIN_INTERVAL_MS, MAX_INTERVAL_MS] = [20, 200];

/**
 * Retries a check until it no longer throws, for at most `withinMs` milliseconds on a quiet machine. Returns its
 * result, or throws its last error. The timeout says nothing about the speed of the product: it is the time that a very
 * busy machine may take, and never shorter than the default.
 */
export async function eventually<T>(check: () => T | Promise<T>, withinMs = 30_000): Promise<T> {
  const begun = performance.now();
  for (;;) {
    try {
      return await check();
    } catch (error) {
      const waited = performance.now() - begun;
      if (waited > withinMs * PATIENCE) throw error;
      await sleep(Math.min(Math.max(waited / 16, MIN_INTERVAL_MS), MAX_INTERVAL_MS));
    }
  }
}

/** Lifetime in milliseconds of something that has to expire soon: at first, and at most if the machine is busy. */
const [SHORT_MS, LONG_MS] = [1_000, 16_000];

/**
 * Creates something that expires soon. If it has expired before it was created, which makes `make` reject, tries again
 * with a longer lifetime.
 */
export async function whileItLasts<T>(make: (expiresAt: string) => Promise<T>): Promise<T> {
  for (let lastsMs = SHORT_MS; ; lastsMs *= 2) {
    try {
      return await make(new Date(Date.now() + lastsMs).toISOString());
    } catch (error) {
      if (lastsMs >= LONG_MS) throw error;
    }
  }
}
