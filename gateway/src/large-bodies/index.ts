import { AppError } from '@commonplace/kit/errors';
import { createThreadPool, transferablesIn, withBuffers } from '@commonplace/kit/workers';
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

/** Creates the pool of threads that read large bodies. Tenants share the threads fairly. */
export function openLargeBodies({ bodyBytes, bodyThreads, bodiesWaiting }: LargeBodySettings): LargeBodies {
  const pool = createThreadPool<ReadTask, ReadRequest>({
    name: 'gateway.bodies',
    entry: new URL('./thread.js', import.meta.url),
    heapMiB: Math.max(MIN_HEAP_MIB, Math.ceil((bodyBytes * HEAP_PER_BYTE) / MIB)),
    size: bodyThreads,
    maxWaitingPerTenant: bodiesWaiting,
    transfer: transferablesIn,
    beyond: tooComplex,
  });
  return {
    read: async (tenant, task) => withBuffers(await pool.do(tenant, task, READ_SECONDS * 1000)),
    close: () => pool.close(),
  };
}
