import { isAttachment, type Node, type NodeType, type Place } from './node.js';

const CONTAINERS: ReadonlySet<NodeType> = new Set(['folder', 'document', 'table']);

/** Returns whether nodes of a type can have children. */
export function isContainer(type: NodeType): boolean {
  return CONTAINERS.has(type);
}

/** Returns the place of a workspace's root, as the parent of its top-level nodes. */
export function rootPlace(workspaceId: string, orgId: string | null): Place & { id: string } {
  return { id: workspaceId, tenant: orgId ?? workspaceId, orgId, workspaceId, ancestors: [], boundary: workspaceId };
}

/** Returns the place of a child of `parent`, which is a node or the root as `rootPlace` returns it. */
export function placeUnder(parent: Place & { id: string }, child: { id: string; restricted: boolean }): Place {
  const { tenant, orgId, workspaceId } = parent;
  const ancestors = parent.id === workspaceId ? [] : [...parent.ancestors, parent.id];
  return { tenant, orgId, workspaceId, ancestors, boundary: child.restricted ? child.id : parent.boundary };
}

/**
 * Returns the new places of the descendants of a moved or restricted head, parents before children. Leaves out nodes
 * whose place stays the same, and nodes whose parent is not among those given.
 */
export function replaceBelow(
  head: Place & { id: string },
  descendants: readonly Node[],
): { node: Node; place: Place }[] {
  const placed = new Map<string, Place & { id: string }>([[head.id, head]]);
  const changed: { node: Node; place: Place }[] = [];
  for (const node of [...descendants].sort((a, b) => a.ancestors.length - b.ancestors.length)) {
    const parent = placed.get(node.parentKey);
    if (parent === undefined) continue;
    const place = placeUnder(parent, node);
    placed.set(node.id, { ...place, id: node.id });
    if (!samePlace(node, place)) changed.push({ node, place });
  }
  return changed;
}

/** Returns whether two places are equal. */
export function samePlace(a: Place, b: Place): boolean {
  return (
    a.boundary === b.boundary &&
    a.workspaceId === b.workspaceId &&
    a.ancestors.length === b.ancestors.length &&
    a.ancestors.every((id, i) => id === b.ancestors[i])
  );
}

/** Returns a node moved to another place and parent. The external key is set for live nodes only. */
export function moveTo(node: Node, place: Place, parentKey: string): Omit<Node, 'version'> {
  const { tenant, orgId, workspaceId, ancestors, boundary } = place;
  const { externalId } = node;
  const externalKey = externalId === undefined || node.state === 'trashed' ? undefined : `${workspaceId}:${externalId}`;
  return { ...node, tenant, orgId, workspaceId, ancestors, boundary, parentKey, externalKey };
}

/** Returns a node as active, without the key of its external id, which another node may have by now. */
export function restored(node: Omit<Node, 'version'>): Omit<Node, 'version'> {
  const { trash: _trash, trashedAt: _at, batchId: _batch, trashHead: _head, purgeAt: _purge, ...rest } = node;
  return { ...rest, state: 'active', externalKey: undefined };
}

/**
 * Returns whether a node of a batch that is being restored is live, or is to be: once the node that the request names is,
 * so is what was trashed with it, even where something has been moved away since. `line` is the node with its ancestors,
 * nearest first.
 */
export function isRestored(batchId: string | undefined, line: readonly Node[]): boolean {
  for (const one of line) {
    if (one.state !== 'trashed') return true;
    if (one.batchId !== batchId || one.trashHead === true) return false;
  }
  return true;
}

/** Returns a node below a new parent: a file becomes an attachment below a document, and stops being one elsewhere. */
export function attachedTo(
  parent: { readonly type?: NodeType },
  { attachment: _, ...node }: Omit<Node, 'version'>,
): Omit<Node, 'version'> {
  return isAttachment(node.type, parent) ? { ...node, attachment: true } : node;
}

/** Returns the number of levels that a subtree has below its head. */
export function heightBelow(head: Node, descendants: readonly Node[]): number {
  return descendants.reduce((most, node) => Math.max(most, node.ancestors.length - head.ancestors.length), 0);
}
