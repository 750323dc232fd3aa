import { failuresOfBounded, resultOf, startTaskThread, type TaskAnswer } from '@commonplace/kit/workers';
import type { Described } from './describe.js';

export type { Described } from './describe.js';

/** Timeout in milliseconds for describing all operations, which takes about one second. */
const DESCRIBE_MS = 60_000;
const HEAP_MIB = 512;

/** Descriptions of all operations by name. */
export type Catalogue = ReadonlyMap<string, Described>;

/** Returns a function that describes all operations in a thread on its first call and caches the result. */
export function createCatalogue(): () => Promise<Catalogue> {
  let known: Promise<Catalogue> | undefined;
  return () => {
    known ??= describeAll();
    // After a failure, the next call tries again.
    known.catch(() => {
      known = undefined;
    });
    return known;
  };
}

async function describeAll(): Promise<Catalogue> {
  const entry = new URL('./thread.js', import.meta.url);
  const failures = failuresOfBounded();
  const thread = startTaskThread<null, TaskAnswer>({ entry, name: 'operations', heapMiB: HEAP_MIB, failures });
  try {
    const described = resultOf(await thread.do(null, DESCRIBE_MS)) as Described[];
    return new Map(described.map((one) => [one.operation, one]));
  } finally {
    await thread.kill();
  }
}
