import { findPages } from '@commonplace/kit/store';
import type { Node } from '../domain/node.js';
import { ExternalIdTaken } from '../errors.js';
import type { TreeParts } from './parts.js';

type NodeData = Omit<Node, 'version'>;
type KeyParts = { readonly tree: Pick<TreeParts['tree'], 'nodes'> };

/**
 * Sets the keys of live nodes' external ids. A node whose key belongs to another node, or to an earlier one in the
 * list, loses its external id, which is unique. `head` is written in the same unit of work.
 */
export async function withFreeKeys(parts: KeyParts, nodes: readonly NodeData[], head?: NodeData): Promise<NodeData[]> {
  const holders = await holdersOf(parts, nodes.flatMap(keyOf));
  if (head?.externalKey !== undefined) holders.set(head.externalKey, head.id);
  return nodes.map((node) => {
    const [key] = keyOf(node);
    if (key === undefined) return node.externalKey === undefined ? node : { ...node, externalKey: undefined };
    const holder = holders.get(key) ?? node.id;
    holders.set(key, holder);
    return holder === node.id
      ? { ...node, externalKey: key }
      : { ...node, externalId: undefined, externalKey: undefined };
  });
}

/** Returns those external ids of nodes in the trash that other nodes of a workspace have by now. */
export async function takenIds(parts: KeyParts, nodes: readonly Node[], workspaceId: string): Promise<string[]> {
  const live = nodes.map((node) => ({ ...node, workspaceId, state: 'active' as const }));
  const holders = await holdersOf(parts, live.flatMap(keyOf));
  const taken = live.filter((node) => keyOf(node).some((key) => (holders.get(key) ?? node.id) !== node.id));
  return taken.flatMap(({ externalId }) => externalId ?? []);
}

/** Yields the descendants of a node, some hundreds at a time, and lets other requests run in between. */
export function descendantsOf({ tree }: KeyParts, { id }: Node): AsyncGenerator<Node[]> {
  return findPages(tree.nodes, { where: { ancestors: { contains: id } } }, PAGE);
}

/** Number of nodes whose external ids one query looks up. */
const PAGE = 200;

/**
 * Throws `external_id_taken` if a subtree moves to a workspace where another node has the external id of one that
 * moves.
 */
export async function requireFreeKeys(parts: KeyParts, head: Node, after: NodeData): Promise<void> {
  if (head.workspaceId === after.workspaceId) return;
  await refuseTaken(parts, [after], after.workspaceId);
  for await (const nodes of descendantsOf(parts, head)) await refuseTaken(parts, nodes, after.workspaceId);
}

async function refuseTaken(parts: KeyParts, nodes: readonly NodeData[], workspaceId: string): Promise<void> {
  const keyed = nodes.filter(({ externalKey }) => externalKey !== undefined);
  const moved = keyed.map((node) => ({ ...node, workspaceId }));
  const holders = await holdersOf(parts, moved.flatMap(keyOf));
  const refused = moved.find((node) => keyOf(node).some((key) => (holders.get(key) ?? node.id) !== node.id));
  if (refused?.externalId !== undefined) {
    throw ExternalIdTaken({ external_id: refused.externalId, resource_id: refused.id });
  }
}

/** Returns the key of a node's external id; none for a node in the trash. */
function keyOf({ externalId, workspaceId, state }: NodeData): string[] {
  return externalId === undefined || state === 'trashed' ? [] : [`${workspaceId}:${externalId}`];
}

async function holdersOf({ tree }: KeyParts, keys: readonly string[]): Promise<Map<string, string>> {
  if (keys.length === 0) return new Map();
  const found = await tree.nodes.find({ where: { externalKey: { in: [...new Set(keys)] } }, limit: keys.length });
  return new Map(found.map(({ externalKey = '', id }) => [externalKey, id]));
}
