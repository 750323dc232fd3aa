import { AppError } from '@commonplace/kit/errors';
import { createThreadPool } from '@commonplace/kit/workers';
import type { Settings } from '../config.js';
import { limitMet, RESERVED_MS, type TimeLimit } from '../time-limits.js';
import type { Outcome, WriteRequest } from './write.js';

/**
 * Bytes of rows from which a write is planned in a worker thread. A main thread that plans 200,000 cells produces some
 * 80 MB of garbage, and collecting it delays all other requests.
 */
export const MIN_THREAD_BYTES = 64 * 1024;

const HEAP_MIB = 384;

type PlannerSettings = Pick<Settings, 'tableThreads' | 'tableSeconds' | 'tablesWaiting'>;

/** Plans writes to tables in worker threads, which tenants share fairly. */
export interface TablePlanner {
  /**
   * Plans a write that needs none of the table's stored rows; resolves to undefined if it turns out to need them. Must
   * end before `deadline` (ms since 1970). Rejects with the faults of the request; with `body_too_complex` if planning
   * takes too long or too much memory, and with `concurrency_limited` if too many writes of the tenant are waiting.
   */
  plan(tenant: string, request: WriteRequest, deadline: number): Promise<Outcome | undefined>;
  close(): Promise<void>;
}

const tooComplex = (limit: TimeLimit, cause: unknown) =>
  new AppError(
    'INVALID_ARGUMENT',
    'body_too_complex',
    `Reading the rows takes more than ${limit.limit_seconds} seconds, or too much memory. Send fewer rows at a time.`,
    { cause, details: { ...limit } },
  );

/** Opens the pool of threads; none is started before the first large write. */
export function openTablePlanner({ tableThreads, tableSeconds, tablesWaiting }: PlannerSettings): TablePlanner {
  const own: TimeLimit = { limit_seconds: tableSeconds, setting: 'COMMONPLACE_TABLE_SECONDS' };
  const timeoutMs = tableSeconds * 1000;
  const pool = createThreadPool<WriteRequest, Outcome | undefined>({
    name: 'resources.tables',
    entry: new URL('./planner-thread.js', import.meta.url),
    heapMiB: HEAP_MIB,
    size: tableThreads,
    maxWaitingPerTenant: tablesWaiting,
    beyond: (cause, stoppedAfterMs = timeoutMs) => tooComplex(limitMet(own, stoppedAfterMs), cause),
  });
  return {
    plan: (tenant, request, deadline) => pool.do(tenant, request, timeoutMs, deadline - RESERVED_MS),
    close: () => pool.close(),
  };
}
