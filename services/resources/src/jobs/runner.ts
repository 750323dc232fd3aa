import type { Log } from '@commonplace/kit/log';
import { LostRace } from '@commonplace/kit/store';
import { continuing } from '@commonplace/kit/telemetry';
import type { Parts } from '../parts.js';
import type { TreeJob } from '../stores/jobs.js';
import { copyOn } from './copy.js';
import { settle } from './settle.js';
import { applyOn, buildTemplate, clearTemplate } from './templates.js';
import { uncomment } from './uncomment.js';
import { unform } from './unform.js';

/** What does the jobs that are no work on a subtree as it is. */
const WORKERS: Partial<Record<TreeJob['kind'], typeof settle>> = {
  copy: copyOn,
  uncomment,
  unform,
  build: buildTemplate,
  apply: applyOn,
  clear: clearTemplate,
};

export interface JobRunner {
  /** Runs a job now; others find it by themselves when its lease is over. */
  start(id: string): void;
  /** Looks for jobs whose worker is gone, each few seconds. */
  begin(): void;
  /** Stops after the piece of work in hand. What is left goes on elsewhere. */
  close(): Promise<void>;
}

/** Milliseconds that a worker holds a job for, without saying so again. */
export const LEASE_MS = 30_000;
const LOOK_MS = 5_000;

/** Runs tree jobs, one at a time in each process. */
export function createJobRunner(partsOf: () => Parts, log: Log): JobRunner {
  let running: Promise<void> = Promise.resolve();
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;

  async function run(id: string): Promise<void> {
    const parts = partsOf();
    const job = await parts.jobs.get(id);
    if (job === undefined || stopped) return;
    const leased = await lease(parts, job);
    if (leased === undefined) return;
    const work = WORKERS[leased.kind] ?? settle;
    const about = { 'commonplace.job.kind': leased.kind };
    await continuing(leased.traceparent, `job ${leased.kind}`, about, () => work(parts, leased, () => stopped));
  }

  const start = (id: string) => {
    running = running
      .then(() => run(id))
      .catch((error) => {
        if (!(error instanceof LostRace)) log.error('tree_job.failed', { job_id: id, error });
      });
  };

  async function look(): Promise<void> {
    const parts = partsOf();
    const now = new Date().toISOString();
    const jobs = await parts.jobs.find({ where: { createdAt: { gt: '' } }, sort: ['createdAt'], limit: 50 });
    for (const job of jobs) if (job.leaseUntil <= now) start(job.id);
  }

  return {
    start,
    begin() {
      const tick = () => look().catch((error) => log.error('tree_job.look_failed', { error }));
      timer = setInterval(tick, LOOK_MS);
      timer.unref();
      tick();
    },
    async close() {
      stopped = true;
      clearInterval(timer);
      await running;
    },
  };
}

/** Takes a job for this process; undefined where another was faster. */
async function lease(parts: Parts, job: TreeJob): Promise<TreeJob | undefined> {
  const work = parts.store.begin();
  const leaseUntil = new Date(Date.now() + LEASE_MS).toISOString();
  const leased = work.replace(parts.jobs, job, { ...job, leaseUntil });
  try {
    await work.commit();
    return leased;
  } catch (error) {
    if (error instanceof LostRace) return undefined;
    throw error;
  }
}
