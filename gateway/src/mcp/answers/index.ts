import { AppError } from '@commonplace/kit/errors';
import { createThreadPool, transferablesIn } from '@commonplace/kit/workers';
import type { Settings } from '../../config.js';
import { MAX_BYTES_AT_ONCE } from '../../large-bodies/index.js';
import { type ReadAnswer, readAnswer, type Shape } from './read.js';

export { cutBefore } from './cut.js';
export type { AskedPart, OperationAnswer, TextPart } from './read.js';

export interface AnswerTask {
  readonly bytes: Uint8Array;
  readonly shape: Shape;
}

/** Timeout in seconds for reading one answer; 10 MiB take less than one second. */
const READ_SECONDS = 10;
const HEAP_MIB = 384;
const THREADS = 2;

/** Reads answers of the API for tools, large ones off the event loop. */
export interface AnswerReader {
  /**
   * Reads an answer, a large one when it is its tenant's turn. Its bytes are unusable afterwards. Rejects with
   * `payload_too_large` if that takes too long or too much memory, and with `concurrency_limited` if too many answers of
   * the tenant are waiting.
   */
  read(tenant: string, bytes: Buffer, shape: Shape): Promise<ReadAnswer>;
  close(): Promise<void>;
}

function tooLarge(cause: unknown): AppError {
  const message = `Reading the answer takes more than ${READ_SECONDS} seconds, or too much memory. Ask for less.`;
  return new AppError('INVALID_ARGUMENT', 'payload_too_large', message, { cause });
}

/** Creates the reader of answers. It has no threads until there is a large answer. */
export function openAnswerReader({ bodiesWaiting }: Pick<Settings, 'bodiesWaiting'>): AnswerReader {
  const pool = createThreadPool<AnswerTask, ReadAnswer>({
    name: 'gateway.answers',
    entry: new URL('./thread.js', import.meta.url),
    heapMiB: HEAP_MIB,
    size: THREADS,
    maxWaitingPerTenant: bodiesWaiting,
    transfer: transferablesIn,
    beyond: tooLarge,
  });
  return {
    async read(tenant, bytes, shape) {
      if (bytes.length <= MAX_BYTES_AT_ONCE) return readAnswer(bytes, shape);
      return pool.do(tenant, { bytes, shape }, READ_SECONDS * 1000);
    },
    close: () => pool.close(),
  };
}
