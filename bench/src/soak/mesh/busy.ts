import { setTimeout as sleep } from 'node:timers/promises';

/** However busy the machine, a round goes on then. */
const MOST_MS = 20_000;

/** Waits so many milliseconds, and until a count has grown by `least`. */
export async function busy(ms: number, count: () => number, least: number): Promise<void> {
  const [from, until] = [count(), performance.now() + MOST_MS];
  await sleep(ms);
  while (count() < from + least && performance.now() < until) await sleep(20);
}
