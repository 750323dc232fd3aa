import { startTaskProcess } from '@commonplace/kit/process';
import { EmbedderFailure } from '../port.js';
import type { ProcessData, Reply, Task } from './protocol.js';

/**
 * A process that runs a model, one task at a time. It is a process because only its end frees the memory that a model
 * takes, and because it can have a lower priority than all others.
 */
export interface ModelProcess {
  /** Runs a task. Rejects with `EmbedderFailure`; the process may be gone then. */
  do(task: Task): Promise<Float32Array>;
  readonly isGone: boolean;
  kill(): Promise<void>;
}

const ENTRY = new URL('./worker.js', import.meta.url);
const HEAP_MIB = 128;
/**
 * Milliseconds that a task may take. It usually takes some 100, and a hundred times that when processors are scarce.
 */
const TASK_TIMEOUT_MS = 120_000;

const failures = {
  notStarted: (cause: unknown) => new EmbedderFailure('the model process did not start', true, { cause }),
  ended: (code: number | null, signal: NodeJS.Signals | null) =>
    new EmbedderFailure(`the model process ended (${signal ?? code})`, true),
  late: (timeoutMs: number) => new EmbedderFailure(`the model took more than ${timeoutMs / 1000} s`, true),
  closed: () => new EmbedderFailure('the embedder is closed', false),
};

export function startModelProcess(about: ProcessData): ModelProcess {
  const child = startTaskProcess<Task, Reply>({ entry: ENTRY, about, heapMiB: HEAP_MIB, failures });
  return {
    get isGone() {
      return child.isGone;
    },
    async do(task) {
      const reply = await child.do(task, TASK_TIMEOUT_MS);
      // A model that can't be loaded or run will not succeed the next time either.
      if ('error' in reply) throw new EmbedderFailure(reply.error, false);
      return reply.vectors;
    },
    kill: () => child.kill(),
  };
}
