import { invalidField, TenantBoundary } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import type { WorkspaceMembership } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { mayHaveChildren, type Node, type NodeType, type Place } from '../domain/node.js';
import { isContainer, rootPlace } from '../domain/tree.js';
import { CycleDetected, ParentNotContainer, WorkspaceArchived } from '../errors.js';
import { replaceNode } from '../nodes/replace.js';
import { type AccessSubject, requireCapability, requireWorkspaceRole, requireWritable } from '../policy.js';
import type { TreeParts } from './parts.js';

/** The parent for a node: a node that can have children, or the root of a workspace. */
export interface Destination {
  /** A node, or a root, which has no type. */
  readonly parent: Place & { readonly id: string; readonly type?: NodeType };
  /** The parent node; absent at a root. */
  readonly node?: Node;
  /** Value of `parentKey` in the children: the node's id, or the workspace's. */
  readonly key: string;
  readonly depth: number;
}

/**
 * Returns a parent into which the caller may put resources. Throws if the role, the type or the state of the parent
 * forbids it.
 */
export async function intoParent(
  parts: TreeParts,
  parentId: string,
  subject: AccessSubject,
  context: CallContext,
  dryRun = false,
): Promise<Destination> {
  const seen = await parts.policy.see(parentId, subject);
  requireCapability(seen, 'write');
  if (!isContainer(seen.node.type)) throw ParentNotContainer({ type: seen.node.type }, { param: 'parent_id' });
  requireWritable(seen);
  if (!dryRun) holdParent(parts, seen.node, context);
  return { parent: seen.node, node: seen.node, key: parentId, depth: seen.node.ancestors.length + 1 };
}

/** Makes a concurrent move, restriction or deletion of the parent conflict with this call. */
function holdParent(parts: TreeParts, parent: Node, { work }: CallContext): void {
  if (mayHaveChildren(parent)) work.expect(parts.tree.nodes, parent);
  else replaceNode(parts, work, parent, { ...parent, parented: true });
}

/**
 * Throws `cycle_detected` if a node would get below itself. The commit depends on all ancestors of the destination, so
 * that of several concurrent moves that together would close a circle, one loses the race. Parents are followed one by
 * one, because the ancestors in a record are updated only after a move above it.
 */
export async function requireNoCycle(
  { tree }: TreeParts,
  nodeId: string,
  { node: parent }: Destination,
  { work }: CallContext,
  dryRun = false,
): Promise<void> {
  const line = new Set<string>();
  for (let above = parent; above !== undefined; above = await work.get(tree.nodes, above.parentKey)) {
    if (above.id === nodeId || line.has(above.id)) throw CycleDetected();
    // `intoParent` holds the parent itself.
    if (above !== parent && !dryRun) work.expect(tree.nodes, above);
    line.add(above.id);
  }
}

/** Returns the root of a workspace, if the caller may put resources there. */
export async function intoRoot(
  parts: TreeParts,
  workspaceId: string,
  subject: AccessSubject,
  context: CallContext,
): Promise<Destination> {
  const membership = await parts.policy.enter(workspaceId, subject, context);
  requireWorkspaceRole(membership, WorkspaceRole.EDITOR);
  requireActive(membership);
  return { parent: rootPlace(workspaceId, membership.orgId || null), key: workspaceId, depth: 0 };
}

function requireActive(membership: WorkspaceMembership): void {
  if (membership.archived) throw WorkspaceArchived();
}

/** Throws `invalid_value` if a parent and a workspace are both given and do not match. */
export function requireSameWorkspace(destination: Destination, workspaceId: string | undefined): void {
  if (workspaceId !== undefined && destination.parent.workspaceId !== workspaceId) {
    throw invalidField('parent_id', 'invalid_value', 'parent_id is a resource of another workspace.');
  }
}

/** Throws a tenant boundary error for a move or a copy to another tenant. */
export function requireSameTenant(from: Pick<Place, 'orgId'>, to: Destination): void {
  if (from.orgId !== to.parent.orgId) {
    throw TenantBoundary(
      {},
      { message: 'Resources cannot be moved or copied to another Org or between an Org and Personal.' },
    );
  }
}
