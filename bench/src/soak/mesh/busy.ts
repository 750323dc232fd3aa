import { setTimeout as sleep } from 'node:timers/promises';

/** Maximum time to wait in milliseconds, however busy the machine is. */
const MAX_MS = 20_000;

/** Waits `ms` milliseconds, and until a count has grown by `least`. */
export async function busy(ms: number, count: () => number, least: number): Promise<void> {
  const [from, until] = [count(), performance.now() + MAX_MS];
  await sleep(ms);
  while (count() < from + least && performance.now() < until) await sleep(20);
}
