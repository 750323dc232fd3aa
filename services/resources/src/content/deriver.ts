import { Worker } from 'node:worker_threads';
import { AppError, Unavailable } from '@commonplace/kit/errors';
import { type Derivation, derivation } from './derivation.js';
import type { Answer, Task } from './deriver-protocol.js';
import { withBuffers } from './deriver-protocol.js';

/** Text above this is read in a thread: on a busy core a MiB takes more than half a second to read and to write. */
export const LARGE_BYTES = 128 * 1024;

export interface Deriver {
  /**
   * Does one of the derivations: at once for texts up to `LARGE_BYTES` together, in a thread for
   * longer ones, so that others are answered meanwhile. Throws, or rejects with, what it throws.
   */
  run<N extends keyof Derivation>(
    bytes: number,
    name: N,
    ...args: Parameters<Derivation[N]>
  ): ReturnType<Derivation[N]> | Promise<ReturnType<Derivation[N]>>;
  close(): Promise<void>;
}

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** The thread is started by the first long text, and again where it has ended by itself. */
export function openDeriver(): Deriver {
  const waiting = new Map<number, Waiting>();
  let thread: Worker | undefined;
  let lastId = 0;

  function start(): Worker {
    const started = new Worker(new URL('./deriver-thread.js', import.meta.url), { name: 'documents', execArgv: [] });
    started.on('message', (answer: Answer) => {
      const call = waiting.get(answer.id);
      waiting.delete(answer.id);
      if ('error' in answer) call?.reject(thrown(answer.error));
      else call?.resolve(withBuffers(answer.value));
      // Only what waits for an answer keeps the process running.
      if (waiting.size === 0) started.unref();
    });
    let cause: unknown;
    started.on('error', (error) => {
      cause = error;
    });
    started.on('exit', () => {
      if (thread === started) thread = undefined;
      for (const { reject } of waiting.values()) reject(Unavailable({}, { cause }));
      waiting.clear();
    });
    return started;
  }

  function send(task: Omit<Task, 'id'>): Promise<unknown> {
    thread ??= start();
    thread.ref();
    const id = ++lastId;
    thread.postMessage({ id, ...task } satisfies Task);
    return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
  }

  return {
    run<N extends keyof Derivation>(bytes: number, name: N, ...args: Parameters<Derivation[N]>) {
      if (bytes > LARGE_BYTES) return send({ name, args }) as Promise<ReturnType<Derivation[N]>>;
      const derive = derivation[name] as (...given: Parameters<Derivation[N]>) => ReturnType<Derivation[N]>;
      return derive(...args);
    },
    async close() {
      await thread?.terminate();
    },
  };
}

function thrown(error: Exclude<Answer, { value: unknown }>['error']): Error {
  if (!('reason' in error)) return new Error(error.message);
  const { code, reason, message, ...options } = error;
  return new AppError(code, reason, message, options);
}
