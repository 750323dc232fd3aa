import type { Node } from '../domain/node.js';
import { ExternalIdTaken } from '../errors.js';
import type { TreeParts } from './parts.js';

type NodeData = Omit<Node, 'version'>;
type KeyParts = { readonly tree: Pick<TreeParts['tree'], 'nodes'> };

/**
 * Sets the keys of live nodes' external ids. A node whose key belongs to another node, or to an earlier one in the
 * list, gets none: it cannot be found by its external id until the other is gone and it is moved or restored again.
 * `head` is written in the same unit of work.
 */
export async function withFreeKeys(parts: KeyParts, nodes: readonly NodeData[], head?: NodeData): Promise<NodeData[]> {
  const holders = await holdersOf(parts, nodes.flatMap(keyOf));
  if (head?.externalKey !== undefined) holders.set(head.externalKey, head.id);
  return nodes.map((node) => {
    const [key] = keyOf(node);
    if (key === undefined) return node.externalKey === undefined ? node : { ...node, externalKey: undefined };
    const holder = holders.get(key) ?? node.id;
    holders.set(key, holder);
    return { ...node, externalKey: holder === node.id ? key : undefined };
  });
}

/** Number of nodes whose external ids one query looks up. */
const PAGE = 500;

/**
 * Throws `external_id_taken` if a subtree moves to a workspace where another node has the external id of one that
 * moves.
 */
export async function requireFreeKeys(parts: KeyParts, head: Node, after: NodeData): Promise<void> {
  if (head.workspaceId === after.workspaceId) return;
  await refuseTaken(parts, [after], after.workspaceId);
  for (let last: string | undefined; ; ) {
    const page = { limit: PAGE, ...(last !== undefined && { after: [last] }) };
    const nodes: Node[] = await parts.tree.nodes.find({ where: { ancestors: { contains: head.id } }, ...page });
    await refuseTaken(parts, nodes, after.workspaceId);
    last = nodes.at(-1)?.id;
    if (nodes.length < PAGE) return;
  }
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
