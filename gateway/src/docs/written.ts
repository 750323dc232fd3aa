import { createThreadPool } from '@commonplace/kit/workers';

/** A page in the form in which it is served. */
export interface WrittenPage {
  readonly contentType: string;
  readonly contentSecurityPolicy: string;
  readonly body: Uint8Array;
}

/** Timeout in milliseconds for writing a page; on a busy machine the first page takes seconds. */
const WRITE_MS = 60_000;
const HEAP_MIB = 512;
const MAX_WAITING = 1_000;

/**
 * Returns a function that looks up the page of a path, or returns undefined if there is none. A thread writes each page
 * on first use; pages are cached. Throws `Unavailable` if the thread fails, and the next call tries again.
 */
export function createWrittenPages(publicUrl: string): (path: string) => Promise<WrittenPage | undefined> {
  const pool = createThreadPool<string | null, unknown>({
    name: 'gateway.docs',
    entry: new URL('./thread.js', import.meta.url),
    heapMiB: HEAP_MIB,
    maxWaitingPerTenant: MAX_WAITING,
    about: { publicUrl },
  });
  const ask = (path: string | null) => pool.do('', path, WRITE_MS);
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
