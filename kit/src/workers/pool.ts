import type { TaskProcess } from '../process/index.js';
import { gauge } from '../telemetry/instruments.js';
import { createFairQueue, type FairQueue, type FairQueueOptions } from './fair-queue.js';

const load = gauge(
  'worker.pool.tasks',
  '{task}',
  'Tasks of a pool of workers, by whether they run or wait for a worker.',
);
const sizes = gauge('worker.pool.size', '{worker}', 'Most workers of a pool.');

export interface WorkerPoolOptions<Task, Reply> {
  /** Name of the pool in metrics. */
  readonly name: string;
  /** Maximum number of concurrent workers. One tenant can use all but one of them, or the only one in a pool of one. */
  readonly size: number;
  readonly maxWaitingPerTenant: number;
  readonly refusal?: FairQueueOptions['refusal'];
  /** Starts a worker: a thread (`startTaskThread`) or a process (`startTaskProcess`). */
  start(): TaskProcess<Task, Reply>;
  /** Returns whether a worker must run no further tasks after this reply. */
  isSpent?(reply: Reply): boolean;
  /** Milliseconds that an idle worker waits for another task before it ends; unlimited by default. */
  readonly idleMs?: number;
  /** Keeps one idle worker ready, so that a task of another tenant need not wait until a worker has started. */
  readonly keepsSpare?: boolean;
  /** Creates the error with which tasks reject once the pool is closed. */
  closed(): Error;
}

/** Workers for tasks whose cost depends on users: each task has a timeout, and tenants share the workers fairly. */
export interface WorkerPool<Task, Reply> {
  /**
   * Runs a task when it is its tenant's turn. After `timeoutMs` of work the worker is replaced, and the task rejects
   * with the worker's error. If the caller waits only until `until`, in milliseconds since 1970, the task gets the time
   * left until then; if that is less than half of what it could have now, it is refused with `concurrency_limited`.
   */
  do(tenant: string, task: Task, timeoutMs: number, until?: number): Promise<Reply>;
  /** Ends the workers; all tasks reject. */
  close(): Promise<void>;
}

interface IdleWorker<Task, Reply> {
  readonly worker: TaskProcess<Task, Reply>;
  readonly timer: NodeJS.Timeout | undefined;
}

/** Creates a pool without starting workers: one is started for the first task that finds none idle, with a spare. */
export function createWorkerPool<Task, Reply>(options: WorkerPoolOptions<Task, Reply>): WorkerPool<Task, Reply> {
  const { name, size, maxWaitingPerTenant, refusal, idleMs } = options;
  const queue = createFairQueue({
    concurrency: size,
    concurrencyPerTenant: Math.max(1, size - 1),
    maxWaitingPerTenant,
    ...(refusal !== undefined && { refusal }),
  });
  const unobserve = observePool(name, size, queue);
  const busy = new Set<TaskProcess<Task, Reply>>();
  const idle: IdleWorker<Task, Reply>[] = [];
  let closed = false;

  function takeWorker(): TaskProcess<Task, Reply> {
    // Uses the worker that was last busy, so that the others can time out.
    for (let free = idle.pop(); free !== undefined; free = idle.pop()) {
      clearTimeout(free.timer);
      if (!free.worker.isGone) return free.worker;
    }
    return options.start();
  }

  function putBack(worker: TaskProcess<Task, Reply>): void {
    const timer = idleMs === undefined ? undefined : setTimeout(() => endIdle(worker), idleMs);
    timer?.unref();
    idle.push({ worker, timer });
  }

  function endIdle(worker: TaskProcess<Task, Reply>): void {
    const at = idle.findIndex((one) => one.worker === worker);
    if (at >= 0) idle.splice(at, 1);
    void worker.kill();
  }

  async function perform(task: Task, timeoutMs: number): Promise<Reply> {
    if (closed) throw options.closed();
    const worker = takeWorker();
    busy.add(worker);
    if (options.keepsSpare === true && idle.length === 0 && busy.size < size) putBack(options.start());
    try {
      const reply = await worker.do(task, timeoutMs);
      if (options.isSpent?.(reply) === true) await worker.kill();
      return reply;
    } finally {
      busy.delete(worker);
      if (!worker.isGone && !closed) putBack(worker);
    }
  }

  return {
    do(tenant, task, timeoutMs, until) {
      if (closed) return Promise.reject(options.closed());
      if (until === undefined) return queue.run(tenant, () => perform(task, timeoutMs));
      const work = () => perform(task, Math.max(1, Math.min(timeoutMs, until - Date.now())));
      const most = Math.min(timeoutMs, until - Date.now());
      return queue.run(tenant, work, until - most / 2);
    },
    async close() {
      closed = true;
      unobserve();
      queue.rejectWaiting(options.closed());
      const resting = idle.splice(0);
      for (const { timer } of resting) clearTimeout(timer);
      await Promise.all([...busy, ...resting.map(({ worker }) => worker)].map((worker) => worker.kill()));
    },
  };
}

/** Reports the load of a pool. Returns a function that ends the reports. */
function observePool(name: string, size: number, queue: FairQueue): () => void {
  const about = { 'pool.name': name };
  const ends = [
    sizes.observe(() => [{ attributes: about, value: size }]),
    load.observe(() => {
      const { running, waiting } = queue.load();
      return [
        { attributes: { ...about, state: 'running' }, value: running },
        { attributes: { ...about, state: 'waiting' }, value: waiting },
      ];
    }),
  ];
  return () => {
    for (const end of ends) end();
  };
}
