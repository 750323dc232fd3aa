import type { HeldJob } from '@commonplace/kit/jobs';
import { UniqueTaken, type UnitOfWork, type Where } from '@commonplace/kit/store';
import type { Node, Place } from '../domain/node.js';
import { moveTo, placeUnder, rootPlace } from '../domain/tree.js';
import { type Change, eventsBy, publishChange } from '../events.js';
import type { TreeJob } from '../nodes/jobs.js';
import { recount } from '../nodes/recount.js';
import { isUnderWay } from '../nodes/subtree.js';
import { moveGrants } from '../sharing/grants.js';
import { forgetTag, retireChunk } from '../tags/tag-nodes.js';
import { withFreeKeys } from './external-keys.js';
import type { TreeParts } from './parts.js';
import { purgeAll, restored, trashed } from './trash.js';

/** Number of nodes that one unit of work rewrites. */
const CHUNK = 200;

/**
 * Rewrites the descendants of a job's head to match it, chunk by chunk, and ends the job after the last one. Retries
 * later if another job has to come first.
 */
export async function rewriteSubtree(parts: TreeParts, job: HeldJob<TreeJob>): Promise<void> {
  if (await isAhead(parts, job.record)) return job.retryIn(PUT_OFF_MS);
  for (let after: string | undefined; !job.isStopping; ) {
    const last = await rewriteChunk(parts, job, after);
    if (last === undefined) return finish(parts, job);
    after = last;
  }
}

/** Returns whether a purge has to wait, because a job is still moving its nodes into the trash. */
async function isAhead(parts: TreeParts, job: TreeJob): Promise<boolean> {
  if (job.kind === 'purge') return isUnderWay(parts, 'trash', [job.headId]);
  if (job.kind !== 'empty') return false;
  const where = {
    createdAt: { gt: '', lt: job.before as string },
    kind: 'trash',
    sweep: { exists: false },
    workspaceIds: { contains: job.headId },
  } as const;
  return (await parts.jobs.find({ where, limit: 1 })).length > 0;
}

/** Milliseconds before a job that waits for another is tried again. */
const PUT_OFF_MS = 1000;

function candidates(parts: TreeParts, job: TreeJob, after: string | undefined): Promise<Node[]> {
  const page = { limit: CHUNK, ...(after === undefined ? {} : { after: [after] }) };
  return parts.tree.nodes.find({ where: about(job), ...page });
}

function about(job: TreeJob): Where<Node> {
  if (job.kind === 'untag') return { tags: { contains: job.headId } };
  if (job.kind !== 'empty') return { ancestors: { contains: job.headId } };
  return { workspaceId: job.headId, state: 'trashed', trashedAt: { lt: job.before as string } };
}

/** Rewrites one chunk in one unit of work. Returns the id of its last node; undefined if none is left. */
async function rewriteChunk(
  parts: TreeParts,
  job: HeldJob<TreeJob>,
  after: string | undefined,
): Promise<string | undefined> {
  let last: string | undefined;
  const write = () =>
    job.save({}, async (work, record) => {
      const nodes = await candidates(parts, record, after);
      last = nodes.at(-1)?.id;
      const { changed, ...change } = await act(parts, work, record, nodes);
      const [first, ...others] = changed;
      if (first !== undefined) publishChange(eventsBy(record.actor, record.tenant, work), change, first, others);
    });
  await write().catch((error: unknown) => {
    // The external id may have been taken since the look-up; try once more.
    if (!(error instanceof UniqueTaken)) throw error;
    return write();
  });
  return last;
}

async function act(
  parts: TreeParts,
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
      throw new Error('a copy changes no existing nodes');
  }
}

/**
 * Rewrites nodes to the places that their parents give them; the records of ancestors are right from the head upwards.
 */
async function placeAll(parts: TreeParts, work: UnitOfWork, nodes: readonly Node[]): Promise<Node[]> {
  const known = new Map<string, Place & { id: string }>();
  const displaced: { node: Node; moved: Omit<Node, 'version'> }[] = [];
  for (const node of nodes) {
    const place = await placeOf(parts, node, known);
    if (place.boundary === node.boundary && place.workspaceId === node.workspaceId && sameIds(place, node)) continue;
    displaced.push({ node, moved: moveTo(node, place, node.parentKey) });
  }
  const places = await withFreeKeys(
    parts,
    displaced.map(({ moved }) => moved),
  );
  const changed: Node[] = [];
  for (const [i, { node }] of displaced.entries()) {
    const moved = places[i] as Omit<Node, 'version'>;
    recount(parts, { work }, node, moved);
    await moveGrants(parts, work, node, moved);
    changed.push(work.replace(parts.tree.nodes, node, moved));
  }
  return changed;
}

function sameIds(a: Place, b: Place): boolean {
  return a.ancestors.join() === b.ancestors.join();
}

async function placeOf(
  parts: TreeParts,
  node: Node,
  known: Map<string, Place & { id: string }>,
  line: readonly string[] = [],
): Promise<Place> {
  // Moves of an earlier version could close a circle.
  if (line.includes(node.id)) return node;
  const atRoot = node.parentKey === node.workspaceId;
  let parent = atRoot ? rootPlace(node.workspaceId, node.orgId) : known.get(node.parentKey);
  if (parent === undefined) {
    const above = await parts.tree.nodes.get(node.parentKey);
    if (above === undefined) return node;
    parent = { ...(await placeOf(parts, above, known, [...line, node.id])), id: above.id };
    known.set(above.id, parent);
  }
  return placeUnder(parent, node);
}

async function trashBatch(parts: TreeParts, work: UnitOfWork, job: TreeJob, nodes: readonly Node[]): Promise<Node[]> {
  const head = await parts.tree.nodes.get(job.headId);
  if (head?.state !== 'trashed' || head.batchId !== job.batchId) return [];
  // Conflicts with a concurrent restore, so that nothing goes into the trash after it.
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

async function restoreBatch(parts: TreeParts, work: UnitOfWork, job: TreeJob, nodes: readonly Node[]): Promise<Node[]> {
  const head = await parts.tree.nodes.get(job.headId);
  if (head === undefined) return [];
  work.expect(parts.tree.nodes, head);
  if (head.state !== 'active') return joinBatch(parts, work, job, nodes, head);
  const known = new Map<string, Place & { id: string }>();
  const batch = nodes.filter((node) => node.state === 'trashed' && node.batchId === job.batchId);
  const live: Omit<Node, 'version'>[] = [];
  for (const node of batch) live.push(restored(moveTo(node, await placeOf(parts, node, known), node.parentKey)));
  const back: Node[] = [];
  for (const [i, moved] of (await withFreeKeys(parts, live)).entries()) {
    const node = batch[i] as Node;
    await moveGrants(parts, work, node, moved);
    back.push(work.replace(parts.tree.nodes, node, moved));
  }
  parts.counters.add(work, back, 1);
  return back;
}

/** Moves the nodes that were not restored yet to the head's new batch, because the head was trashed again. */
function joinBatch(parts: TreeParts, work: UnitOfWork, job: TreeJob, nodes: readonly Node[], head: Node): Node[] {
  const { batchId, trashedAt, purgeAt } = head;
  for (const node of nodes) {
    if (node.state !== 'trashed' || node.batchId !== job.batchId) continue;
    work.replace(parts.tree.nodes, node, { ...node, batchId, trashedAt, purgeAt });
  }
  return [];
}

/** Ends a job. The head of a purged subtree is deleted last, because until then it names the remaining nodes. */
async function finish(parts: TreeParts, job: HeldJob<TreeJob>): Promise<void> {
  await job.remove(async (work, { kind, headId, batchId, actor, tenant }) => {
    const head = kind === 'purge' ? await parts.tree.nodes.get(headId) : undefined;
    if (head?.state === 'trashed' && head.batchId === batchId) {
      await purgeAll(parts, work, [head]);
      publishChange(eventsBy(actor, tenant, work), { verb: 'resource.purged' }, head);
    }
    if (kind === 'untag') await forgetTag(parts, work, headId);
  });
  parts.pending.forget();
}
