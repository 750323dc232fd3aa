import { createWorkerPool, type WorkerPool, type WorkerPoolOptions } from './pool.js';
import { resultOf, type TaskAnswer } from './task-answer.js';
import { failuresOfBounded, startTaskThread, type TaskThreadOptions } from './task-thread.js';

/** Milliseconds after which an idle thread ends. */
const IDLE_MS = 60_000;

interface ThreadPoolOptions<Task>
  extends Pick<TaskThreadOptions<Task>, 'entry' | 'heapMiB' | 'about' | 'transfer'>,
    Pick<WorkerPoolOptions<Task, TaskAnswer>, 'maxWaitingPerTenant' | 'keepsSpare'> {
  /** Name of the pool in metrics: `resources.tables`. Its threads are called by what follows the dot. */
  readonly name: string;
  /** Maximum number of threads; one by default. */
  readonly size?: number;
  /** Creates the error for a task that takes too long or too much memory; `Unavailable` by default. */
  beyond?(cause: unknown, timeoutMs?: number): Error;
}

/** Creates a pool of threads that call `performTasks`. None is started before the first task. */
export function createThreadPool<Task, Result>(options: ThreadPoolOptions<Task>): WorkerPool<Task, Result> {
  const failures = failuresOfBounded(options.beyond);
  const thread = { ...options, name: options.name.slice(options.name.indexOf('.') + 1), failures };
  const pool = createWorkerPool<Task, TaskAnswer>({
    size: 1,
    ...options,
    start: () => startTaskThread(thread),
    idleMs: IDLE_MS,
    closed: failures.closed,
  });
  return {
    do: async (tenant, task, timeoutMs, until) => resultOf(await pool.do(tenant, task, timeoutMs, until)) as Result,
    close: () => pool.close(),
  };
}
