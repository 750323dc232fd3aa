import { AppError } from '../errors/index.js';

export interface FairQueueOptions {
  /** Maximum number of concurrent jobs. */
  readonly concurrency: number;
  /** Maximum number of concurrent jobs of one tenant; below `concurrency`, one tenant never occupies every slot. */
  readonly concurrencyPerTenant: number;
  /** Maximum number of waiting jobs of one tenant; a further one is refused. */
  readonly maxWaitingPerTenant: number;
  /** Creates the error for a tenant with too many jobs; by default 429 `concurrency_limited`. */
  readonly refusal?: (limit: number) => Error;
}

/** Runs jobs in an order that is fair between tenants. */
export interface FairQueue {
  /**
   * Runs a job when it is its tenant's turn; resolves or rejects as the job does. A job that has not started by
   * `startBy`, in milliseconds since 1970, is refused, because its caller no longer waits for the result.
   */
  run<T>(tenant: string, job: () => Promise<T>, startBy?: number): Promise<T>;
  /** Returns how many jobs run, and how many wait. */
  load(): { readonly running: number; readonly waiting: number };
  /** Rejects the waiting jobs; running ones continue. */
  rejectWaiting(error: Error): void;
}

interface WaitingJob {
  readonly begin: () => Promise<void>;
  readonly reject: (error: Error) => void;
}

interface TenantQueue {
  readonly waiting: WaitingJob[];
  running: number;
  /**
   * Milliseconds that the tenant's jobs took since it joined the queue, starting from the minimum of the other tenants.
   */
  usedMs: number;
}

/** Minimum cost of starting a job, so that tenants with immeasurably short jobs take turns too. */
const START_COST_MS = 1;

/**
 * Creates a queue in which a free slot goes to the tenant whose jobs have taken the least time so far. A tenant waits
 * for its own jobs, and for at most one job of others on each slot.
 */
export function createFairQueue(options: FairQueueOptions): FairQueue {
  const { concurrency, concurrencyPerTenant, maxWaitingPerTenant, refusal = tooManyJobs } = options;
  const tenants = new Map<string, TenantQueue>();
  let running = 0;

  function queueOf(tenant: string): TenantQueue {
    const known = tenants.get(tenant);
    if (known !== undefined) return known;
    // A new tenant is served before those that used much time, but gains no credit for the time before.
    const usedMs = tenants.size === 0 ? 0 : Math.min(...Array.from(tenants.values(), (other) => other.usedMs));
    const queue = { waiting: [], running: 0, usedMs };
    tenants.set(tenant, queue);
    return queue;
  }

  function nextTenant(): [string, TenantQueue] | undefined {
    let next: [string, TenantQueue] | undefined;
    for (const entry of tenants) {
      const [, queue] = entry;
      if (queue.waiting.length === 0 || queue.running >= concurrencyPerTenant) continue;
      if (next === undefined || queue.usedMs < next[1].usedMs) next = entry;
    }
    return next;
  }

  function startJobs(): void {
    while (running < concurrency) {
      const next = nextTenant();
      if (next === undefined) return;
      void runJob(...next);
    }
  }

  async function runJob(tenant: string, queue: TenantQueue): Promise<void> {
    const job = queue.waiting.shift() as WaitingJob;
    running += 1;
    queue.running += 1;
    queue.usedMs += START_COST_MS;
    const since = performance.now();
    await job.begin();
    running -= 1;
    queue.running -= 1;
    queue.usedMs += performance.now() - since;
    if (queue.running === 0 && queue.waiting.length === 0) tenants.delete(tenant);
    startJobs();
  }

  function giveUp(tenant: string, job: WaitingJob): void {
    const queue = tenants.get(tenant);
    const at = queue?.waiting.indexOf(job) ?? -1;
    if (queue === undefined || at < 0) return;
    queue.waiting.splice(at, 1);
    if (queue.running === 0 && queue.waiting.length === 0) tenants.delete(tenant);
    job.reject(waitedTooLong());
  }

  return {
    run<T>(tenant: string, job: () => Promise<T>, startBy?: number): Promise<T> {
      const queue = queueOf(tenant);
      if (queue.waiting.length >= maxWaitingPerTenant) return Promise.reject(refusal(maxWaitingPerTenant));
      return new Promise<T>((resolve, reject) => {
        let late: NodeJS.Timeout | undefined;
        const begin = () => {
          clearTimeout(late);
          return job().then(resolve, reject);
        };
        const waiting: WaitingJob = { begin, reject };
        queue.waiting.push(waiting);
        startJobs();
        const at = queue.waiting.indexOf(waiting);
        if (at >= 0 && startBy !== undefined) late = setTimeout(() => giveUp(tenant, waiting), startBy - Date.now());
      });
    },
    load: () => ({
      running,
      waiting: [...tenants.values()].reduce((sum, { waiting }) => sum + waiting.length, 0),
    }),
    rejectWaiting(error) {
      for (const { waiting } of tenants.values()) for (const { reject } of waiting.splice(0)) reject(error);
    },
  };
}

function waitedTooLong(): AppError {
  const message =
    'Other work of this Org used up the time for this request. Send fewer such requests at the same time.';
  return new AppError('RESOURCE_EXHAUSTED', 'concurrency_limited', message, { retryAfter: 1 });
}

function tooManyJobs(limit: number): AppError {
  const message = `More than ${limit} jobs of this Org are waiting already. Try again in a moment.`;
  return new AppError('RESOURCE_EXHAUSTED', 'concurrency_limited', message, { details: { limit }, retryAfter: 1 });
}
