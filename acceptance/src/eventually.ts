import { setTimeout as sleep } from 'node:timers/promises';

/** Milliseconds between looks: each costs what a request does, so that what takes long is looked at less often. */
const [SOONEST, LATEST] = [20, 200];

/** Tries a check until it throws no more, `withinMs` at the most; then gives what it gave, or throws its last error. */
export async function eventually<T>(check: () => T | Promise<T>, withinMs = 15_000): Promise<T> {
  const begun = performance.now();
  for (;;) {
    try {
      return await check();
    } catch (error) {
      const waited = performance.now() - begun;
      if (waited > withinMs) throw error;
      await sleep(Math.min(Math.max(waited / 16, SOONEST), LATEST));
    }
  }
}
