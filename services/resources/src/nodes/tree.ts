import { type Collection, findInPages, type UnitOfWork } from '@commonplace/kit/store';
import type { Node } from '../domain/node.js';
import { isRestored, placeUnder, rootPlace } from '../domain/tree.js';
import type { TreeJob } from './jobs.js';
import type { PendingJobs } from './pending.js';

/** Reads nodes with their current place and state, even while a job is still rewriting a large subtree. */
export interface Tree {
  readonly nodes: Collection<Node>;
  get(id: string, work?: UnitOfWork): Promise<Node | undefined>;
  /** Returns those nodes that exist, in the order of the ids. */
  getMany(ids: readonly string[]): Promise<Node[]>;
  /**
   * Returns an empty list if the places in the records of nodes are up to date. While a job rewrites a large subtree,
   * and a moment longer, returns the workspaces that records of nodes of this workspace may still name.
   */
  unsettled(workspaceId: string): Promise<readonly string[]>;
  /** Returns whether a job is moving, trashing or restoring a large subtree of a workspace. */
  isRewritten(workspaceId: string): Promise<boolean>;
  /** Returns the record of a node that was read with its current place and state. */
  recordOf(node: Node): Node;
  /** Returns a node with its current place and state, of which `recordOf` returns the given record. */
  resolvedAs(node: Node, record: Node): Node;
  /** Returns nodes with their current place and state, without those that a job is purging. */
  resolve(nodes: readonly Node[]): Promise<Node[]>;
  /** Returns the descendants of a node, at most `limit`. */
  below(id: string, limit: number): Promise<Node[]>;
}

/** Number of nodes that one query reads. */
const PAGE = 200;

const REWRITES: ReadonlySet<TreeJob['kind']> = new Set(['place', 'trash', 'restore']);

export function createTree(nodes: Collection<Node>, pending: PendingJobs): Tree {
  const records = new WeakMap<Node, Node>();

  function resolvedAs(node: Node, record: Node): Node {
    records.set(node, record);
    return node;
  }

  async function resolveOne(node: Node, jobs: readonly TreeJob[]): Promise<Node | undefined> {
    if (jobs.length === 0) return node;
    const resolved = await throughParents(nodes, node, jobs);
    return resolved && resolvedAs(resolved, node);
  }

  async function resolve(found: readonly Node[]): Promise<Node[]> {
    // Jobs that end while the parents of many nodes are read are those of the records of all of them.
    const jobs = new Map<string, readonly TreeJob[]>();
    for (const { workspaceId } of found) {
      if (!jobs.has(workspaceId)) jobs.set(workspaceId, await pending.in(workspaceId));
    }
    const resolved: Node[] = [];
    for (const node of found) {
      const seen = await resolveOne(node, jobs.get(node.workspaceId) ?? []);
      if (seen !== undefined) resolved.push(seen);
    }
    return resolved;
  }

  return {
    nodes,
    async get(id, work) {
      const node = work === undefined ? await nodes.get(id) : await work.get(nodes, id);
      return node === undefined ? undefined : resolveOne(node, await pending.in(node.workspaceId));
    },
    getMany: async (ids) => resolve(await nodes.getMany(ids)),
    unsettled: async (workspaceId) => [...new Set((await pending.in(workspaceId)).flatMap((job) => job.workspaceIds))],
    isRewritten: async (workspaceId) => (await pending.unfinished(workspaceId)).some(({ kind }) => REWRITES.has(kind)),
    recordOf: (node) => records.get(node) ?? node,
    resolvedAs,
    resolve,
    below: (id, limit) => findInPages(nodes, { where: { ancestors: { contains: id } }, limit }, PAGE),
  };
}

/**
 * Returns a node with the place and state that its ancestors determine, which are current even before a job has
 * rewritten the node's own record. Returns undefined for a node that a job is purging.
 */
async function throughParents(
  nodes: Collection<Node>,
  node: Node,
  jobs: readonly TreeJob[],
): Promise<Node | undefined> {
  const chain = [node];
  const heads = new Set([node.id]);
  let top = node;
  while (top.parentKey !== top.workspaceId) {
    const parent = await nodes.get(top.parentKey);
    // Moves of an earlier version could close a circle.
    if (parent === undefined || heads.has(parent.id)) break;
    chain.unshift(parent);
    heads.add(parent.id);
    top = parent;
  }
  const purged = jobs.some((job) => job.kind === 'purge' && heads.has(job.headId) && job.batchId === node.batchId);
  if (purged) return undefined;
  let place = rootPlace(top.workspaceId, top.orgId);
  for (const one of chain) place = { ...placeUnder(place, one), id: one.id };
  const { id: _, ...rest } = place;
  return { ...node, ...rest, ...stateIn(node, chain, jobs) };
}

/** Returns the state that a node has by its ancestors; in the trash, with the batch that it is in. `chain` ends with it. */
function stateIn(node: Node, chain: readonly Node[], jobs: readonly TreeJob[]): Partial<Node> & Pick<Node, 'state'> {
  const line = [...chain].reverse();
  const restores = jobs.filter(({ kind }) => kind === 'restore');
  const trashed = line.find(
    (one, i) =>
      one.state === 'trashed' &&
      !restores.some((job) => job.batchId === one.batchId && isRestored(job.batchId, line.slice(i))),
  );
  if (trashed === undefined) return { state: 'active' };
  const { batchId, trashedAt, purgeAt, trash } = trashed;
  return node.state === 'trashed'
    ? { state: 'trashed' }
    : { state: 'trashed', batchId, trashedAt, purgeAt, trash: trash && { ...trash, descendants: 0 } };
}
