import { setTimeout as sleep } from 'node:timers/promises';
import { PATIENCE } from '../patience/index.js';

/** Minimum and maximum milliseconds between two checks: the interval is a sixteenth of the time waited. */
const [MIN_INTERVAL_MS, MAX_INTERVAL_MS] = [10, 100];

/**
 * Waits until a check stops throwing, and returns its result; throws its last error after `deadline` milliseconds,
 * multiplied by `PATIENCE`. For conditions that become true soon, but not at once.
 */
export async function eventually<T>(check: () => T | Promise<T>, deadline = 30_000): Promise<T> {
  const begun = performance.now();
  for (;;) {
    try {
      return await check();
    } catch (error) {
      const waited = performance.now() - begun;
      if (waited > deadline * PATIENCE) throw error;
      await sleep(Math.min(Math.max(waited / 16, MIN_INTERVAL_MS), MAX_INTERVAL_MS));
    }
  }
}
