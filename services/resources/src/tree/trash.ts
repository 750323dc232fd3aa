import type { Actor } from '@commonplace/kit/auth';
import type { UnitOfWork } from '@commonplace/kit/store';
import { type Node, parentId } from '../domain/node.js';
import { replaceNodes } from '../nodes/replace.js';
import { grantsOn } from '../sharing/grants.js';
import { forgetAllOf } from '../snapshots/commands.js';
import type { TreeParts } from './parts.js';

export interface Batch {
  readonly batchId: string;
  readonly at: string;
  readonly purgeAt: string;
  readonly by: Actor;
}

/** Returns a node as trashed; its external id becomes available to others. */
export function trashed(
  node: Omit<Node, 'version'>,
  batch: Batch,
  head: boolean,
  descendants: number,
): Omit<Node, 'version'> {
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

/**
 * Returns the key under which a node's external id is unique; undefined without an id, or if another node has the key.
 */
export async function freeExternalKey(parts: TreeParts, node: Pick<Node, 'externalId' | 'workspaceId'>) {
  if (node.externalId === undefined) return undefined;
  const externalKey = `${node.workspaceId}:${node.externalId}`;
  const taken = await parts.tree.nodes.find({ where: { externalKey }, limit: 1 });
  return taken.length === 0 ? externalKey : undefined;
}

/** Moves live nodes into the trash with their head. */
export function trashAll(parts: TreeParts, work: UnitOfWork, nodes: readonly Node[], batch: Batch): Promise<Node[]> {
  const live = nodes.filter((node) => node.state === 'active');
  const changes = live.map((node) => ({ before: node, after: trashed(node, batch, false, 0) }));
  return replaceNodes(parts, work, changes);
}

/** Maximum number of access requests that one purge deletes; any further ones remain without their resource. */
const MAX_REQUESTS_PER_PURGE = 10_000;

/** Deletes nodes permanently, with everything that belongs to them. Returns the number of bytes that this frees. */
export async function purgeAll(parts: TreeParts, work: UnitOfWork, nodes: readonly Node[]): Promise<number> {
  const ids = nodes.filter(({ type }) => parts.kinds[type] !== undefined).map(({ id }) => id);
  let freed = await forgetAllOf(parts, ids, work);
  for (const forget of parts.forgetters) await forget(work, nodes);
  const requests = await parts.accessRequests.find({
    where: { resourceId: { in: nodes.map(({ id }) => id) } },
    limit: MAX_REQUESTS_PER_PURGE,
  });
  for (const request of requests) work.remove(parts.accessRequests, request);
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

/** Returns the nearest live ancestor of a node, to which it can be restored; an undefined id denotes the root. */
export async function liveHome(parts: TreeParts, node: Node): Promise<{ id: string | undefined; relocated: boolean }> {
  const wanted = parentId(node);
  const candidates = [...new Set([...node.ancestors, ...(wanted === undefined ? [] : [wanted])])].reverse();
  const found = new Map((await parts.tree.getMany(candidates)).map((one) => [one.id, one]));
  for (const id of candidates) {
    if (found.get(id)?.state === 'active') return { id, relocated: id !== wanted };
  }
  return { id: undefined, relocated: wanted !== undefined };
}
