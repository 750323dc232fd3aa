import { type HeldJob, openQueue, type Queue } from '@commonplace/kit/jobs';
import { uncomment } from './comments/uncomment.js';
import { copyOn, finishCopy } from './copies/job.js';
import type { FormParts } from './forms/parts.js';
import { unform } from './forms/unform.js';
import { type TreeJob, treeJobQueue } from './nodes/jobs.js';
import { applyOn, buildTemplate, clearTemplate, giveUpApply, giveUpBuild } from './templates/jobs.js';
import type { TemplateParts } from './templates/parts.js';
import { rewriteSubtree } from './tree/rewrite-subtree.js';

export type JobParts = TemplateParts & FormParts;
type Worker = (parts: JobParts, job: HeldJob<TreeJob>) => Promise<void>;

/** Workers for kinds of jobs that do more than rewrite a subtree to match its head. */
const WORKERS: Partial<Record<TreeJob['kind'], Worker>> = {
  copy: (parts, job) => copyOn(parts, job),
  uncomment,
  unform,
  build: buildTemplate,
  apply: applyOn,
  clear: clearTemplate,
};

/**
 * Workers for a job that is given up. Those of copies and of templates end it; reads depend on all others, so these
 * remain and are retried once a day.
 */
const ENDINGS: Partial<Record<TreeJob['kind'], Worker>> = {
  copy: finishCopy,
  build: giveUpBuild,
  apply: giveUpApply,
};

const DAY_MS = 86_400_000;

/** Opens the queue that runs tree jobs, one at a time in each process. */
export function openJobRunner({
  partsOf,
  ...parts
}: Pick<JobParts, 'store' | 'log' | 'settings'> & { partsOf(): JobParts }): Promise<Queue<TreeJob>> {
  return openQueue<TreeJob>({
    store: parts.store,
    log: parts.log,
    spec: treeJobQueue,
    concurrency: 1,
    maxFailures: parts.settings.treeJobTries,
    retryDeadAfterMs: DAY_MS,
    run: (job) => (WORKERS[job.record.kind] ?? rewriteSubtree)(partsOf(), job),
    onGivenUp: async (job) => ENDINGS[job.record.kind]?.(partsOf(), job),
  });
}
