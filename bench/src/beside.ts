import type { Bench } from './bench.js';
import type { LoadRequest } from './load/spec.js';
import { type Contestant, compare, type Figures, type Subject } from './measure.js';

/** Compares contestants with a limit, which gets the same requests as the first of them. Stops the limit afterwards. */
export async function compareBeside(
  bench: Bench,
  contestants: readonly [Contestant, ...Contestant[]],
  startLimit: () => Promise<Subject>,
): Promise<Figures[]> {
  const limit = await startLimit();
  try {
    const requests: readonly LoadRequest[] = contestants[0].requests;
    const [first, ...others] = contestants;
    return await compare([first, { subject: limit, requests }, ...others], bench.pace, bench.say);
  } finally {
    await limit.stop();
  }
}
