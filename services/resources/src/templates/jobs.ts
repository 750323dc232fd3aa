import type { HeldJob } from '@commonplace/kit/jobs';
import type { UnitOfWork } from '@commonplace/kit/store';
import { copyOn, finishCopy, removePlan } from '../copies/job.js';
import type { Node } from '../domain/node.js';
import { eventsBy, publishChange } from '../events.js';
import { allJobs, type TreeJob } from '../nodes/jobs.js';
import { purgeAll } from '../tree/trash.js';
import { publishTemplate } from './events.js';
import type { TemplateParts } from './parts.js';

/** Continues copying the content of a template, which becomes ready with the last piece. */
export function buildTemplate(parts: TemplateParts, job: HeldJob<TreeJob>): Promise<void> {
  return copyOn(parts, job, () => endBuild(parts, job, 'ready'));
}

/** Marks a template as failed if its content cannot be built. */
export function giveUpBuild(parts: TemplateParts, job: HeldJob<TreeJob>): Promise<void> {
  return endBuild(parts, job, 'failed');
}

function endBuild(parts: TemplateParts, job: HeldJob<TreeJob>, status: 'ready' | 'failed'): Promise<void> {
  return job.remove(async (work, record) => {
    await removePlan(parts, record, work);
    const template = await work.get(parts.templates, record.headId);
    if (template === undefined) return;
    const updatedAt = new Date().toISOString();
    const changed = work.replace(parts.templates, template, { ...template, status, updatedAt });
    publishTemplate(eventsBy(record.actor, record.tenant, work), 'updated', changed);
  });
}

/** Milliseconds after which a workspace that does not exist yet is assumed never to be created. */
const MAX_WORKSPACE_DELAY_MS = 120_000;
const PAUSE_MS = 15_000;

/**
 * Continues filling a workspace from a template, and then notifies tenancy. If the workspace was never created, deletes
 * what was copied into it.
 */
export function applyOn(parts: TemplateParts, job: HeldJob<TreeJob>): Promise<void> {
  return copyOn(parts, job, () => endApply(parts, job));
}

/** Shows at a workspace that its template could not be copied. The job remains, and is retried once a day. */
export async function giveUpApply({ peers, systemCall }: TemplateParts, { record }: HeldJob<TreeJob>): Promise<void> {
  await peers.directory.finishTemplate({ workspaceId: record.headId, failed: true }, systemCall());
}

async function endApply(parts: TemplateParts, job: HeldJob<TreeJob>): Promise<void> {
  const { headId } = job.record;
  const { found } = await parts.peers.directory.finishTemplate(
    { workspaceId: headId, failed: false },
    parts.systemCall(),
  );
  if (found) return finishCopy(parts, job);
  // A repeated request renews the job, or is refused once this is stored.
  await job.save((record) => (isLate(record) ? { discards: true } : {}));
  return job.record.discards ? purgeWhole(parts, job) : job.retryIn(PAUSE_MS);
}

const isLate = ({ createdAt }: TreeJob) => Date.now() - Date.parse(createdAt) > MAX_WORKSPACE_DELAY_MS;

/** Deletes the content of a deleted template, once no workspace is being filled from it any more. */
export async function clearTemplate(parts: TemplateParts, job: HeldJob<TreeJob>): Promise<void> {
  await ((await isInUse(parts, job.record.headId)) ? job.retryIn(PAUSE_MS) : purgeWhole(parts, job));
}

async function isInUse({ jobs }: TemplateParts, templateId: string): Promise<boolean> {
  const running = await allJobs(jobs, { kind: 'apply' });
  return running.some(({ copy }) => copy?.sourceId === templateId);
}

/** Number of nodes that one unit of work deletes. */
const CHUNK = 200;

/** Deletes everything in the job's workspace or template, and then the job. */
async function purgeWhole(parts: TemplateParts, job: HeldJob<TreeJob>): Promise<void> {
  const some = { where: { workspaceId: job.record.headId }, anyOrder: true, limit: CHUNK };
  for (let isLast = false; !isLast; ) {
    if (job.isStopping) return;
    await job.save({}, async (work, record) => {
      const nodes = await parts.tree.nodes.find(some);
      const tags = await parts.tags.collection.find(some);
      if (nodes.length > 0) await purgeSome(parts, record, nodes, work);
      for (const tag of tags) work.remove(parts.tags.collection, tag);
      isLast = nodes.length < CHUNK && tags.length < CHUNK;
    });
  }
  await finishCopy(parts, job);
}

async function purgeSome(parts: TemplateParts, job: TreeJob, nodes: readonly Node[], work: UnitOfWork): Promise<void> {
  await purgeAll(parts, work, nodes);
  parts.counters.add(
    work,
    nodes.filter(({ template }) => template === undefined),
    -1,
  );
  // No events were published for the nodes of a template, except for its files.
  const [first, ...others] = nodes.filter(({ template, type }) => template === undefined || type === 'file');
  if (first !== undefined)
    publishChange(eventsBy(job.actor, job.tenant, work), { verb: 'resource.purged' }, first, others);
}
