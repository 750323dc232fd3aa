import { Unavailable } from '@commonplace/kit/errors';
import { createWorkerPool, resultOf, startTaskThread, type TaskAnswer } from '@commonplace/kit/workers';
import type { Param, Row } from './binding.js';

/** A query for another thread. */
export interface Scan {
  readonly sql: string;
  readonly params: readonly Param[];
}

/** Runs queries that read many records in other threads, so that nothing else waits for them. */
export interface Scanner {
  /**
   * Returns the rows of a query over everything that was committed before. Callers of different `group`s take turns.
   * Rejects with UNAVAILABLE after 30 s.
   */
  all(group: string, sql: string, params: readonly Param[]): Promise<Row[]>;
  close(): Promise<void>;
}

const THREADS = 2;
const HEAP_MIB = 128;
const TIMEOUT_MS = 30_000;
const IDLE_MS = 60_000;
const MAX_WAITING_PER_GROUP = 1000;

/** Creates the scanner of a database file. It starts no thread before the first query. */
export function createScanner(file: string): Scanner {
  const entry = new URL('./scan-thread.js', import.meta.url);
  const failures = {
    ended: (cause: unknown) => Unavailable({}, { cause }),
    late: () => Unavailable({}, { message: `A query took more than ${TIMEOUT_MS / 1000} s.` }),
    closed: () => Unavailable({}),
  };
  const pool = createWorkerPool<Scan, TaskAnswer>({
    name: 'sqlite.scans',
    size: THREADS,
    maxWaitingPerTenant: MAX_WAITING_PER_GROUP,
    start: () => startTaskThread({ entry, name: 'store-scan', heapMiB: HEAP_MIB, failures, about: { file } }),
    idleMs: IDLE_MS,
    closed: failures.closed,
  });
  return {
    all: async (group, sql, params) => resultOf(await pool.do(group, { sql, params }, TIMEOUT_MS)) as Row[],
    close: () => pool.close(),
  };
}
