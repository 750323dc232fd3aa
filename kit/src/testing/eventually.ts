import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Waits until a check stops throwing, and gives what it gave; throws its last error after
 * `deadline` milliseconds. For what happens soon, but not at once.
 */
export async function eventually<T>(check: () => T | Promise<T>, deadline = 15_000): Promise<T> {
  const end = performance.now() + deadline;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() > end) throw error;
      await sleep(10);
    }
  }
}
