import { setTimeout as sleep } from 'node:timers/promises';
import { PATIENCE } from '../patience/index.js';

/**
 * Waits until a check stops throwing, and returns its result; throws its last error after `deadline` milliseconds,
 * multiplied by `PATIENCE`. For conditions that become true soon, but not at once.
 */
export async function eventually<T>(check: () => T | Promise<T>, deadline = 30_000): Promise<T> {
  const end = performance.now() + deadline * PATIENCE;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() > end) throw error;
      await sleep(10);
    }
  }
}
