import { setTimeout as sleep } from 'node:timers/promises';
import { PATIENCE } from '@commonplace/kit/testing/patience';

/**
 * Minimum and maximum milliseconds between two tries. Each try costs a request, so the interval grows with the time
 * waited.
 */
const [SOONEST, LATEST] = [20, 200];

/**
 * Retries a check until it no longer throws, for at most `withinMs` milliseconds of a quiet machine. Returns its result, or throws its
 * last error. How long it waits says nothing about how fast the product is: it is what a machine may take that has much
 * else to do, and never shorter than by default.
 */
export async function eventually<T>(check: () => T | Promise<T>, withinMs = 30_000): Promise<T> {
  const begun = performance.now();
  for (;;) {
    try {
      return await check();
    } catch (error) {
      const waited = performance.now() - begun;
      if (waited > withinMs * PATIENCE) throw error;
      await sleep(Math.min(Math.max(waited / 16, SOONEST), LATEST));
    }
  }
}

/** Milliseconds that something lasts which is to expire soon: at first, and at the most where the machine is busy. */
const [SHORT_MS, LONG_MS] = [1_000, 16_000];

/**
 * Makes something that expires soon. Gives it more time where it had expired before it was made, which is when `make`
 * rejects.
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
