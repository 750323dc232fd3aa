import { setTimeout as sleep } from 'node:timers/promises';

/** Tries a check until it throws no more, `withinMs` at the most; then gives what it gave, or throws its last error. */
export async function eventually<T>(check: () => T | Promise<T>, withinMs = 15_000): Promise<T> {
  const end = performance.now() + withinMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() > end) throw error;
      await sleep(20);
    }
  }
}
