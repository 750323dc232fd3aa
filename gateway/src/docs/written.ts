import { Unavailable } from '@commonplace/kit/errors';
import {
  createWorkerPool,
  resultOf,
  startTaskThread,
  type TaskAnswer,
  type ThreadFailures,
} from '@commonplace/kit/workers';

/** A page in the form in which it is served. */
export interface WrittenPage {
  readonly contentType: string;
  readonly contentSecurityPolicy: string;
  readonly body: Uint8Array;
}

/** Timeout in milliseconds for writing a page; on a busy machine the first page takes seconds. */
const WRITE_MS = 60_000;
/** Milliseconds after which an idle thread ends. */
const IDLE_MS = 60_000;
const HEAP_MIB = 512;
const MAX_WAITING = 1_000;

const failures: ThreadFailures = {
  ended: (cause) => Unavailable({}, { cause }),
  late: (timeoutMs) => Unavailable({}, { cause: new Error(`took more than ${timeoutMs} ms`) }),
  closed: () => Unavailable({}),
};

/**
 * Returns a function that looks up the page of a path, or returns undefined if there is none. A thread writes each page
 * on first use; pages are cached. Throws `Unavailable` if the thread fails, and the next call tries again.
 */
export function createWrittenPages(publicUrl: string): (path: string) => Promise<WrittenPage | undefined> {
  const entry = new URL('./thread.js', import.meta.url);
  const pool = createWorkerPool<string | null, TaskAnswer>({
    name: 'gateway.docs',
    size: 1,
    maxWaitingPerTenant: MAX_WAITING,
    start: () => startTaskThread({ entry, name: 'docs', heapMiB: HEAP_MIB, failures, about: { publicUrl } }),
    idleMs: IDLE_MS,
    closed: failures.closed,
  });
  const ask = async (path: string | null) => resultOf(await pool.do('', path, WRITE_MS));
  const listed = once(async () => new Set((await ask(null)) as string[]));
  const written = new Map<string, () => Promise<WrittenPage>>();
  return async (path) => {
    if (!(await listed()).has(path)) return undefined;
    const page = written.get(path) ?? once(async () => (await ask(path)) as WrittenPage);
    written.set(path, page);
    return page();
  };
}

/**
 * Memoizes an asynchronous function: the first call computes the value, later calls return it. After a failure the next
 * call tries again.
 */
function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
  };
}
