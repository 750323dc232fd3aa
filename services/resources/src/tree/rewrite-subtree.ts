import type { HeldJob } from '@commonplace/kit/jobs';
import { UniqueTaken, type UnitOfWork, type Where } from '@commonplace/kit/store';
import type { Node, Place } from '../domain/node.js';
import { isRestored, moveTo, placeUnder, restored, rootPlace } from '../domain/tree.js';
import { type Change, eventsBy, publishChange } from '../events.js';
import { allJobs, type TreeJob } from '../nodes/jobs.js';
import { type NodeChange, replaceNodes } from '../nodes/replace.js';
import { moveGrants } from '../sharing/grants.js';
import { forgetTag, retireChunk } from '../tags/tag-nodes.js';
import { withFreeKeys } from './external-keys.js';
import type { TreeParts } from './parts.js';
import { purgeAll, trashed } from './trash.js';

/** Number of nodes that one unit of work rewrites. */
const CHUNK = 200;

/**
 * Rewrites the descendants of a job's head to match it, chunk by chunk, and ends the job after the last one. Retries
 * later if another job has to come first.
 */
export async function rewriteSubtree(parts: TreeParts, job: HeldJob<TreeJob>): Promise<void> {
  if (await isAhead(parts, job.record)) return job.retryIn(PUT_OFF_MS);
  // Reads ignore a sweep. Until it has written a node that it finds, others are put below that node by its former place,
  // also with ids that the sweep has passed, so it looks again until there is nothing to write.
  let again = false;
  for (let after: string | undefined; !job.isStopping; ) {
    const { last, changed } = await rewriteChunk(parts, job, after);
    again ||= job.record.sweep === true && changed > 0;
    if (last === undefined && !again) return finish(parts, job);
    if (last === undefined) again = false;
    after = last;
  }
}

/** Kinds of jobs that read the places and states of nodes as earlier jobs leave them. */
const ORDERED: ReadonlySet<TreeJob['kind']> = new Set(['trash', 'restore', 'purge', 'empty']);

/**
 * Returns whether a job has to wait: because an earlier one is still moving, trashing or restoring nodes of the same
 * workspace, whose records might not tell yet that they are below the head, or in which batch they are; or because it
 * purges nodes that a copy still has to read.
 */
async function isAhead(parts: TreeParts, job: TreeJob): Promise<boolean> {
  if (!ORDERED.has(job.kind)) return false;
  if (await isCopyAwaited(parts, job)) return true;
  const before = job.kind === 'empty' ? (job.before as string) : job.createdAt;
  const earlier = await allJobs(parts.jobs, {
    createdAt: { gt: '', lt: before },
    kind: { in: ['place', 'trash', 'restore'] },
    sweep: { exists: false },
  });
  return earlier.some((one) => one.id !== job.id && one.workspaceIds.some((id) => job.workspaceIds.includes(id)));
}

async function isCopyAwaited(parts: TreeParts, job: TreeJob): Promise<boolean> {
  if (job.kind === 'purge') {
    return parts.isCopyAwaited(
      job,
      ({ id, ancestors, batchId }) => batchId === job.batchId && (id === job.headId || ancestors.includes(job.headId)),
    );
  }
  if (job.kind !== 'empty') return false;
  const before = job.before as string;
  return parts.isCopyAwaited(
    job,
    ({ workspaceId, trashedAt }) => workspaceId === job.headId && trashedAt !== undefined && trashedAt < before,
  );
}

/** Milliseconds before a job that waits for another is tried again. */
const PUT_OFF_MS = 1000;

function candidates(parts: TreeParts, job: TreeJob, after: string | undefined): Promise<Node[]> {
  const page = { limit: CHUNK, ...(after === undefined ? {} : { after: [after] }) };
  return parts.tree.nodes.find({ where: about(job), ...page });
}

function about(job: TreeJob): Where<Node> {
  if (job.kind === 'untag') return { tags: { contains: job.headId } };
  // What is moved away while it is being restored is in the batch, but no longer below the head.
  if (job.kind === 'restore') return { batchId: job.batchId as string };
  if (job.kind !== 'empty') return { ancestors: { contains: job.headId } };
  return { workspaceId: job.headId, state: 'trashed', trashedAt: { lt: job.before as string } };
}

interface Chunk {
  /** Id of the last node; undefined if none is left. */
  readonly last: string | undefined;
  /** Number of nodes that were written. */
  readonly changed: number;
}

/** Rewrites one chunk in one unit of work. */
async function rewriteChunk(parts: TreeParts, job: HeldJob<TreeJob>, after: string | undefined): Promise<Chunk> {
  let chunk: Chunk = { last: undefined, changed: 0 };
  const write = () =>
    job.save({}, async (work, record) => {
      const nodes = await candidates(parts, record, after);
      const { changed, ...change } = await act(parts, work, record, nodes);
      chunk = { last: nodes.at(-1)?.id, changed: changed.length };
      const [first, ...others] = changed;
      if (first !== undefined) publishChange(eventsBy(record.actor, record.tenant, work), change, first, others);
    });
  await write().catch((error: unknown) => {
    // The external id may have been taken since the look-up; try once more.
    if (!(error instanceof UniqueTaken)) throw error;
    return write();
  });
  return chunk;
}

async function act(
  parts: TreeParts,
  work: UnitOfWork,
  job: TreeJob,
  nodes: readonly Node[],
): Promise<Change & { changed: Node[] }> {
  switch (job.kind) {
    case 'place': {
      const leavesWorkspace = job.workspaceIds.length > 1;
      return {
        changed: await placeAll(parts, work, nodes),
        verb: leavesWorkspace ? 'resource.moved' : 'resource.updated',
      };
    }
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
  const changes = displaced.map(({ node }, i) => ({ before: node, after: places[i] as Omit<Node, 'version'> }));
  for (const { before, after } of changes) await moveGrants(parts, work, before, after);
  return replaceNodes(parts, work, changes);
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
  const changes = live.map((node) => ({ before: node, after: trashed(node, batch, false, 0) }));
  return replaceNodes(parts, work, changes);
}

/**
 * Restores the nodes of a batch to the places that their parents give them. If the head was trashed again, those that
 * still are below it join its new batch; the others have been moved away in the meantime, or something above them.
 */
async function restoreBatch(parts: TreeParts, work: UnitOfWork, job: TreeJob, nodes: readonly Node[]): Promise<Node[]> {
  const head = await parts.tree.nodes.get(job.headId);
  if (head === undefined) return [];
  work.expect(parts.tree.nodes, head);
  const known = new Map<string, Place & { id: string }>();
  const above = new Map<string, Node>();
  const joining: NodeChange[] = [];
  const back: NodeChange[] = [];
  for (const node of nodes) {
    if (node.state !== 'trashed' || node.id === head.id) continue;
    const place = await placeOf(parts, node, known);
    if (isRestored(job.batchId, await lineOf(parts, node, above))) {
      back.push({ before: node, after: restored(moveTo(node, place, node.parentKey)) });
    } else if (head.state === 'trashed' && place.ancestors.includes(head.id)) {
      const { batchId, trashedAt, purgeAt } = head;
      joining.push({ before: node, after: { ...node, batchId, trashedAt, purgeAt } });
    }
  }
  const live = await withFreeKeys(
    parts,
    back.map(({ after }) => after),
  );
  const changes = back.map(({ before }, i) => ({ before, after: live[i] as Omit<Node, 'version'> }));
  for (const { before, after } of changes) await moveGrants(parts, work, before, after);
  await replaceNodes(parts, work, joining);
  return replaceNodes(parts, work, changes);
}

/** Returns a node with its ancestors, nearest first. `known` are records that were read before. */
async function lineOf(parts: TreeParts, node: Node, known: Map<string, Node>): Promise<Node[]> {
  const line = [node];
  for (let next: string | undefined = node.parentKey; next !== undefined; next = line.at(-1)?.parentKey) {
    const above: Node | undefined = known.get(next) ?? (await parts.tree.nodes.get(next));
    // Moves of an earlier version could close a circle.
    if (above === undefined || line.includes(above)) break;
    known.set(above.id, above);
    line.push(above);
  }
  return line;
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
