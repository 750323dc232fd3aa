import type { Actor } from '@commonplace/kit/auth';
import type { UnitOfWork } from '@commonplace/kit/store';
import type { Parts } from '../parts.js';
import { type Node, parentId } from '../stores/nodes.js';
import { forgetComments } from './forget-comments.js';
import { forgetForms } from './forget-form.js';
import { forgetPublications } from './forget-publications.js';
import { grantsOn } from './grants.js';
import { forgetAllOf } from './snapshots.js';

export interface Batch {
  readonly batchId: string;
  readonly at: string;
  readonly purgeAt: string;
  readonly by: Actor;
}

/** A node in the trash: its external id is free again. */
export function trashed(node: Node, batch: Batch, head: boolean, descendants: number): Omit<Node, 'version'> {
  return {
    ...node,
    state: 'trashed',
    trash: { by: batch.by, descendants },
    trashHead: head,
    trashedAt: batch.at,
    batchId: batch.batchId,
    purgeAt: batch.purgeAt,
    externalKey: undefined,
  };
}

/** A node out of the trash again. Its external id comes back unless another has it now. */
export function restored(node: Omit<Node, 'version'>, externalKey: string | undefined): Omit<Node, 'version'> {
  const { trash: _trash, trashedAt: _at, batchId: _batch, trashHead: _head, purgeAt: _purge, ...rest } = node;
  return { ...rest, state: 'active', externalKey };
}

/** The key under which a node's external id is unique, unless somebody has taken it meanwhile. */
export async function freeExternalKey(parts: Parts, node: Pick<Node, 'externalId' | 'workspaceId'>) {
  if (node.externalId === undefined) return undefined;
  const externalKey = `${node.workspaceId}:${node.externalId}`;
  const taken = await parts.tree.nodes.find({ where: { externalKey }, limit: 1 });
  return taken.length === 0 ? externalKey : undefined;
}

/** Moves live nodes into the trash with their head. */
export function trashAll(parts: Parts, work: UnitOfWork, nodes: readonly Node[], batch: Batch): Node[] {
  const live = nodes.filter((node) => node.state === 'active');
  parts.counters.add(work, live, -1);
  return live.map((node) => work.replace(parts.tree.nodes, node, trashed(node, batch, false, 0)));
}

/** Access requests that go with the nodes of one purge; older ones than that many lead nowhere. */
const REQUESTS_PER_PURGE = 10_000;

/** Deletes nodes for good with all that hangs on them. Gives the bytes that this frees. */
export async function purgeAll(parts: Parts, work: UnitOfWork, nodes: readonly Node[]): Promise<number> {
  const ids = nodes.filter(({ type }) => parts.kinds[type] !== undefined).map(({ id }) => id);
  let freed = await forgetAllOf(parts, ids, work);
  await forgetComments(parts, work, nodes);
  await forgetForms(parts, work, nodes);
  const requests = await parts.accessRequests.find({
    where: { resourceId: { in: nodes.map(({ id }) => id) } },
    limit: REQUESTS_PER_PURGE,
  });
  for (const request of requests) work.remove(parts.accessRequests, request);
  await forgetPublications(parts, work, nodes);
  for (const node of nodes) {
    freed += node.sizeBytes;
    await parts.kinds[node.type]?.remove(node, { work });
    if (node.principals.length > 0) {
      for (const grant of await grantsOn(parts, node)) work.remove(parts.grants, grant);
    }
    work.remove(parts.tree.nodes, node);
  }
  return freed;
}

/** The nearest ancestor that lives and may hold a node again; undefined for the root. */
export async function liveHome(parts: Parts, node: Node): Promise<{ id: string | undefined; relocated: boolean }> {
  const wanted = parentId(node);
  const candidates = [...new Set([...node.ancestors, ...(wanted === undefined ? [] : [wanted])])].reverse();
  const found = new Map((await parts.tree.getMany(candidates)).map((one) => [one.id, one]));
  for (const id of candidates) {
    if (found.get(id)?.state === 'active') return { id, relocated: id !== wanted };
  }
  return { id: undefined, relocated: wanted !== undefined };
}
