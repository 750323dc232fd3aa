import { LostRace, type UnitOfWork } from '@commonplace/kit/store';
import { purgeAll } from '../acts/trash.js';
import { eventsBy, publishChange, publishTemplate } from '../events.js';
import type { Parts } from '../parts.js';
import type { TreeJob } from '../stores/jobs.js';
import type { Node } from '../stores/nodes.js';
import { copyOn, endCopy } from './copy.js';

/** Times that the making of a template is tried. */
const TRIES = 5;

/** Goes on with the content of a template; it is ready with the last piece, or failed when it can't be made. */
export async function buildTemplate(parts: Parts, job: TreeJob, stopped: () => boolean): Promise<void> {
  try {
    await copyOn(parts, job, stopped, (_, done) => endBuild(parts, done, 'ready'));
  } catch (error) {
    if (error instanceof LostRace) throw error;
    const held = await parts.jobs.get(job.id);
    if (held === undefined) return;
    const failures = (held.failures ?? 0) + 1;
    parts.log.warn('template.failed', { template_id: job.headId, failures, error });
    if (failures >= TRIES) return endBuild(parts, held, 'failed');
    const work = parts.store.begin();
    work.replace(parts.jobs, held, { ...held, failures });
    await work.commit();
  }
}

async function endBuild(parts: Parts, job: TreeJob, status: 'ready' | 'failed'): Promise<void> {
  const work = parts.store.begin();
  await endCopy(parts, job, work);
  const template = await work.get(parts.templates, job.headId);
  if (template !== undefined) {
    const updatedAt = new Date().toISOString();
    const changed = work.replace(parts.templates, template, { ...template, status, updatedAt });
    publishTemplate(eventsBy(job.actor, job.tenant, work), 'updated', changed);
  }
  await work.commit();
}

/** Milliseconds within which a workspace comes to be, or never. */
const COMING_MS = 120_000;
const PAUSE_MS = 15_000;

/** Goes on with filling a workspace, and tells tenancy; what was copied into one that never came to be goes. */
export function applyOn(parts: Parts, job: TreeJob, stopped: () => boolean): Promise<void> {
  return copyOn(parts, job, stopped, endApply);
}

async function endApply(parts: Parts, job: TreeJob): Promise<void> {
  const { found } = await parts.peers.directory.finishTemplate({ workspaceId: job.headId }, parts.systemCall());
  const late = Date.now() - Date.parse(job.createdAt) > COMING_MS;
  if (!found && late) {
    await purgeWhole(parts, job);
    return;
  }
  const work = parts.store.begin();
  if (found) await endCopy(parts, job, work);
  else work.replace(parts.jobs, job, { ...job, leaseUntil: new Date(Date.now() + PAUSE_MS).toISOString() });
  await work.commit();
}

/** Takes away what a deleted template holds, when no workspace is being filled from it any more. */
export async function clearTemplate(parts: Parts, job: TreeJob): Promise<void> {
  if (await isInUse(parts, job.headId)) return;
  await purgeWhole(parts, job);
}

/** Jobs that are looked at. */
const JOBS = 1000;

async function isInUse({ jobs }: Parts, templateId: string): Promise<boolean> {
  const running = await jobs.find({ where: { createdAt: { gt: '' } }, sort: ['createdAt'], limit: JOBS });
  return running.some(({ kind, copy }) => kind === 'apply' && copy?.sourceId === templateId);
}

/** Nodes that one unit of work takes away. */
const CHUNK = 200;

/** Takes away all that stands in a job's workspace, or template, and then the job. */
async function purgeWhole(parts: Parts, job: TreeJob): Promise<void> {
  const where = { workspaceId: job.headId };
  for (;;) {
    const nodes = await parts.tree.nodes.find({ where, limit: CHUNK });
    const tags = await parts.tags.collection.find({ where, limit: CHUNK });
    const work = parts.store.begin();
    if (nodes.length > 0) await purgeSome(parts, job, nodes, work);
    for (const tag of tags) work.remove(parts.tags.collection, tag);
    const last = nodes.length < CHUNK && tags.length < CHUNK;
    if (last) await endCopy(parts, job, work);
    await work.commit();
    if (last) return;
  }
}

async function purgeSome(parts: Parts, job: TreeJob, nodes: readonly Node[], work: UnitOfWork): Promise<void> {
  await purgeAll(parts, work, nodes);
  parts.counters.add(
    work,
    nodes.filter(({ template }) => template === undefined),
    -1,
  );
  // Of what stands in a template nobody has heard, but of its files.
  const [first, ...others] = nodes.filter(({ template, type }) => template === undefined || type === 'file');
  if (first !== undefined)
    publishChange(eventsBy(job.actor, job.tenant, work), { verb: 'resource.purged' }, first, others);
}
