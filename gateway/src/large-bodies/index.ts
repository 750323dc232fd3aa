import { AppError } from '@commonplace/kit/errors';
import {
  createWorkerPool,
  failuresOfBounded,
  resultOf,
  startTaskThread,
  type TaskAnswer,
  transferablesIn,
  withBuffers,
} from '@commonplace/kit/workers';
import type { Settings } from '../config.js';
import type { ReadRequest, ReadTask } from './protocol.js';

/**
 * Size in bytes above which a body is read in a worker thread. JSON of many small values takes up to 70 ns per byte.
 */
export const MAX_BYTES_AT_ONCE = 64 * 1024;

/** Timeout in seconds for reading one body; 10 MiB take less than one second. */
const READ_SECONDS = 10;
/** Heap of a thread, in bytes per byte of body. Parsed JSON takes up to forty times its size. */
const HEAP_PER_BYTE = 40;
const MIN_HEAP_MIB = 384;
const MIB = 1024 * 1024;
const IDLE_MS = 60_000;

type LargeBodySettings = Pick<Settings, 'bodyBytes' | 'bodyThreads' | 'bodiesWaiting'>;

/** Reads requests with large bodies off the event loop. */
export interface LargeBodies {
  /**
   * Reads a request when it is its tenant's turn. The task's body is transferred to the thread and is unusable
   * afterwards. Rejects with the faults of the request, with `body_too_complex` if reading takes too long or too much
   * memory, and with `concurrency_limited` if too many requests of the tenant are waiting.
   */
  read(tenant: string, task: ReadTask): Promise<ReadRequest>;
  close(): Promise<void>;
}

const tooComplex = (cause: unknown) =>
  new AppError(
    'INVALID_ARGUMENT',
    'body_too_complex',
    `Reading the body takes more than ${READ_SECONDS} seconds, or too much memory. Send fewer values at a time.`,
    { cause, details: { limit_seconds: READ_SECONDS } },
  );

const failures = failuresOfBounded(tooComplex);

/** Creates the pool of threads that read large bodies. Tenants share the threads fairly. */
export function openLargeBodies({ bodyBytes, bodyThreads, bodiesWaiting }: LargeBodySettings): LargeBodies {
  const entry = new URL('./thread.js', import.meta.url);
  const heapMiB = Math.max(MIN_HEAP_MIB, Math.ceil((bodyBytes * HEAP_PER_BYTE) / MIB));
  const pool = createWorkerPool<ReadTask, TaskAnswer>({
    name: 'gateway.bodies',
    size: bodyThreads,
    maxWaitingPerTenant: bodiesWaiting,
    start: () =>
      startTaskThread<ReadTask, TaskAnswer>({ entry, name: 'bodies', heapMiB, failures, transfer: transferablesIn }),
    idleMs: IDLE_MS,
    closed: failures.closed,
  });
  return {
    async read(tenant, task) {
      const answer = await pool.do(tenant, task, READ_SECONDS * 1000);
      return withBuffers(resultOf(answer)) as ReadRequest;
    },
    close: () => pool.close(),
  };
}
