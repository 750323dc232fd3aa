import { removeSubmissions } from '../acts/forget-form.js';
import type { Parts } from '../parts.js';
import type { TreeJob } from '../stores/jobs.js';
import { LEASE_MS } from './runner.js';

/** Takes away what was noted of a deleted form's submissions, piece by piece, and ends the job with the last. */
export async function unform(parts: Parts, job: TreeJob, stopped: () => boolean): Promise<void> {
  let held = job;
  for (let done = false; !done && !stopped(); ) {
    const work = parts.store.begin();
    done = await removeSubmissions(parts, work, job.headId);
    if (done) work.remove(parts.jobs, held);
    else held = work.replace(parts.jobs, held, { ...held, leaseUntil: new Date(Date.now() + LEASE_MS).toISOString() });
    await work.commit();
  }
}
