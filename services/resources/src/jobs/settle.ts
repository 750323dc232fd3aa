import { LostRace, type UnitOfWork, type Where } from '@commonplace/kit/store';
import { moveGrants } from '../acts/grants.js';
import { recount } from '../acts/place.js';
import { isUnderWay } from '../acts/subtree.js';
import { forgetTag, retireChunk } from '../acts/tag-nodes.js';
import { freeExternalKey, purgeAll, restored, trashed } from '../acts/trash.js';
import { moveTo, placeUnder, rootPlace } from '../domain/tree.js';
import { type Change, eventsBy, publishChange } from '../events.js';
import type { Parts } from '../parts.js';
import type { TreeJob } from '../stores/jobs.js';
import type { Node, Place } from '../stores/nodes.js';
import { MAX_PENDING } from '../stores/pending.js';
import { LEASE_MS } from './runner.js';

/** Nodes that one unit of work rewrites. */
const CHUNK = 200;

/** Brings what stands below a job's head in line with the head, piece by piece; ends the job when all is. */
export async function settle(parts: Parts, job: TreeJob, stopped: () => boolean): Promise<void> {
  if (await isAhead(parts, job)) return putOff(parts, job);
  let held = job;
  let after: string | undefined;
  while (!stopped()) {
    const nodes = await candidates(parts, held, after);
    if (nodes.length === 0) {
      await finish(parts, held);
      return;
    }
    const done = await settleChunk(parts, held, nodes);
    if (done === undefined) continue;
    held = done;
    after = nodes.at(-1)?.id;
  }
}

/** Whether a purge would come before what it purges is all in the trash. */
async function isAhead(parts: Parts, job: TreeJob): Promise<boolean> {
  if (job.kind === 'purge') return isUnderWay(parts, 'trash', [job.headId]);
  if (job.kind !== 'empty') return false;
  const where = { createdAt: { gt: '', lt: job.before as string }, kind: 'trash', sweep: { exists: false } } as const;
  const jobs = await parts.jobs.find({ where, limit: MAX_PENDING });
  return jobs.some(({ workspaceIds }) => workspaceIds.includes(job.headId));
}

/** Milliseconds until a job that has to wait for another is looked at again. */
const PUT_OFF_MS = 1000;

async function putOff(parts: Parts, job: TreeJob): Promise<void> {
  const work = parts.store.begin();
  work.replace(parts.jobs, job, { ...job, leaseUntil: new Date(Date.now() + PUT_OFF_MS).toISOString() });
  await work.commit();
}

function candidates(parts: Parts, job: TreeJob, after: string | undefined): Promise<Node[]> {
  const page = { limit: CHUNK, ...(after === undefined ? {} : { after: [after] }) };
  return parts.tree.nodes.find({ where: about(job), ...page });
}

function about(job: TreeJob): Where<Node> {
  if (job.kind === 'untag') return { tags: { contains: job.headId } };
  if (job.kind !== 'empty') return { ancestors: { contains: job.headId } };
  return { workspaceId: job.headId, state: 'trashed', trashedAt: { lt: job.before as string } };
}

/** One piece in one unit of work, with the lease renewed in it; undefined after a lost race. */
async function settleChunk(parts: Parts, job: TreeJob, nodes: readonly Node[]): Promise<TreeJob | undefined> {
  const work = parts.store.begin();
  const { changed, ...change } = await act(parts, work, job, nodes);
  const [first, ...others] = changed;
  if (first !== undefined) publishChange(eventsBy(job.actor, job.tenant, work), change, first, others);
  const leaseUntil = new Date(Date.now() + LEASE_MS).toISOString();
  const held = work.replace(parts.jobs, job, { ...job, leaseUntil });
  try {
    await work.commit();
    return held;
  } catch (error) {
    if (!(error instanceof LostRace) || error.id === job.id) throw error;
    return undefined;
  }
}

async function act(
  parts: Parts,
  work: UnitOfWork,
  job: TreeJob,
  nodes: readonly Node[],
): Promise<Change & { changed: Node[] }> {
  switch (job.kind) {
    case 'place':
      return { changed: await placeAll(parts, work, nodes), verb: 'resource.updated' };
    case 'untag':
      return {
        changed: await retireChunk(parts, work, job.headId, nodes),
        verb: 'resource.updated',
        fields: ['tags'],
      };
    case 'trash':
      return { changed: await trashBatch(parts, work, job, nodes), verb: 'resource.trashed' };
    case 'restore':
      return { changed: await restoreBatch(parts, work, job, nodes), verb: 'resource.restored' };
    case 'purge':
    case 'empty': {
      const gone = nodes.filter(
        (node) => node.state === 'trashed' && (job.kind === 'empty' || node.batchId === job.batchId),
      );
      await purgeAll(parts, work, gone);
      return { changed: gone, verb: 'resource.purged' };
    }
    case 'unform':
      throw new Error('a job about a form changes no nodes');
    case 'uncomment':
      throw new Error('a job about comments changes no nodes');
    case 'copy':
    case 'build':
    case 'apply':
    case 'clear':
      throw new Error('a copy is no work on what is there');
  }
}

/** Each node's place by its parents, whose own records say the truth from the head upwards. */
async function placeAll(parts: Parts, work: UnitOfWork, nodes: readonly Node[]): Promise<Node[]> {
  const known = new Map<string, Place & { id: string }>();
  const changed: Node[] = [];
  for (const node of nodes) {
    const place = await placeOf(parts, node, known);
    if (place.boundary === node.boundary && place.workspaceId === node.workspaceId && sameIds(place, node)) continue;
    const moved = moveTo(node, place, node.parentKey);
    recount(parts, { work }, node, moved);
    await moveGrants(parts, work, node, moved);
    changed.push(work.replace(parts.tree.nodes, node, moved));
  }
  return changed;
}

function sameIds(a: Place, b: Place): boolean {
  return a.ancestors.join() === b.ancestors.join();
}

async function placeOf(parts: Parts, node: Node, known: Map<string, Place & { id: string }>): Promise<Place> {
  const atRoot = node.parentKey === node.workspaceId;
  let parent = atRoot ? rootPlace(node.workspaceId, node.orgId) : known.get(node.parentKey);
  if (parent === undefined) {
    const above = await parts.tree.nodes.get(node.parentKey);
    if (above === undefined) return node;
    parent = { ...(await placeOf(parts, above, known)), id: above.id };
    known.set(above.id, parent);
  }
  return placeUnder(parent, node);
}

async function trashBatch(parts: Parts, work: UnitOfWork, job: TreeJob, nodes: readonly Node[]): Promise<Node[]> {
  const head = await parts.tree.nodes.get(job.headId);
  if (head?.state !== 'trashed' || head.batchId !== job.batchId) return [];
  // It may be restored at this moment: then nothing below may go into the trash behind it.
  work.expect(parts.tree.nodes, head);
  const batch = {
    batchId: job.batchId as string,
    at: head.trashedAt as string,
    purgeAt: head.purgeAt as string,
    by: job.actor,
  };
  const live = nodes.filter((node) => node.state === 'active');
  parts.counters.add(work, live, -1);
  return live.map((node) => work.replace(parts.tree.nodes, node, trashed(node, batch, false, 0)));
}

async function restoreBatch(parts: Parts, work: UnitOfWork, job: TreeJob, nodes: readonly Node[]): Promise<Node[]> {
  const head = await parts.tree.nodes.get(job.headId);
  if (head === undefined) return [];
  work.expect(parts.tree.nodes, head);
  if (head.state !== 'active') return joinBatch(parts, work, job, nodes, head);
  const known = new Map<string, Place & { id: string }>();
  const back: Node[] = [];
  for (const node of nodes) {
    if (node.state !== 'trashed' || node.batchId !== job.batchId) continue;
    const moved = moveTo(node, await placeOf(parts, node, known), node.parentKey);
    await moveGrants(parts, work, node, moved);
    back.push(work.replace(parts.tree.nodes, node, restored(moved, await freeExternalKey(parts, moved))));
  }
  parts.counters.add(work, back, 1);
  return back;
}

/** The head is in the trash again: what had not come back yet goes with it, as part of its new batch. */
function joinBatch(parts: Parts, work: UnitOfWork, job: TreeJob, nodes: readonly Node[], head: Node): Node[] {
  const { batchId, trashedAt, purgeAt } = head;
  for (const node of nodes) {
    if (node.state !== 'trashed' || node.batchId !== job.batchId) continue;
    work.replace(parts.tree.nodes, node, { ...node, batchId, trashedAt, purgeAt });
  }
  return [];
}

/** The head of a purged subtree goes last: until then it names what is left. */
async function finish(parts: Parts, job: TreeJob): Promise<void> {
  const work = parts.store.begin();
  const head = job.kind === 'purge' ? await parts.tree.nodes.get(job.headId) : undefined;
  if (head?.state === 'trashed' && head.batchId === job.batchId) {
    await purgeAll(parts, work, [head]);
    publishChange(eventsBy(job.actor, job.tenant, work), { verb: 'resource.purged' }, head);
  }
  if (job.kind === 'untag') await forgetTag(parts, work, job.headId);
  work.remove(parts.jobs, job);
  await work.commit();
  parts.pending.forget();
}
