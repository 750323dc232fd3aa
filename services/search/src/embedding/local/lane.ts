import { EmbedderFailure } from '../port.js';
import { type ModelProcess, startModelProcess } from './model-process.js';
import type { ProcessData } from './protocol.js';

/** Serializes the tasks of one model process: first come, first served. */
export interface Lane {
  /** Returns the vectors of the texts, concatenated. Rejects with `EmbedderFailure` or the signal's reason. */
  embed(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array>;
  close(): Promise<void>;
}

/** Opens a lane without starting its process, which starts with the first text and ends when idle. */
export function openLane(data: ProcessData, idleMs: number): Lane {
  let process: ModelProcess | undefined;
  let idle: NodeJS.Timeout | undefined;
  let last: Promise<unknown> = Promise.resolve();
  let closed = false;

  function rest(): void {
    clearTimeout(idle);
    idle = setTimeout(() => {
      void process?.kill();
      process = undefined;
    }, idleMs);
    idle.unref();
  }

  async function perform(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array> {
    signal?.throwIfAborted();
    if (closed) throw new EmbedderFailure('the embedder is closed', false);
    clearTimeout(idle);
    if (process === undefined || process.isGone) process = startModelProcess(data);
    try {
      return await process.do({ texts });
    } finally {
      if (!closed) rest();
    }
  }

  return {
    embed(texts, signal) {
      const done = last.then(() => perform(texts, signal));
      last = done.catch(() => undefined);
      return done;
    },
    async close() {
      closed = true;
      clearTimeout(idle);
      await process?.kill();
      process = undefined;
      await last;
    },
  };
}
