import { invalidField, TenantBoundary } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import type { WorkspaceMembership } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { isContainer, rootPlace } from '../domain/tree.js';
import { ParentNotContainer, WorkspaceArchived } from '../errors.js';
import type { Parts } from '../parts.js';
import { requireCapability, requireWorkspaceRole, requireWritable, type Standing } from '../policy.js';
import { mayHaveChildren, type Node, type NodeType, type Place } from '../stores/nodes.js';

/** Where something is to be put: a node that may hold others, or a workspace's root. */
export interface Destination {
  /** A node, or a root, which has no type. */
  readonly parent: Place & { readonly id: string; readonly type?: NodeType };
  /** The same node; absent at a root. */
  readonly node?: Node;
  /** What children name as their parent: the node's id, or the workspace's. */
  readonly key: string;
  readonly depth: number;
}

/** A parent that the caller may put things into, by role, kind and state. */
export async function intoParent(
  parts: Parts,
  parentId: string,
  standing: Standing,
  context: CallContext,
  dryRun = false,
): Promise<Destination> {
  const seen = await parts.policy.see(parentId, standing);
  requireCapability(seen, 'write');
  if (!isContainer(seen.node.type)) throw ParentNotContainer({ type: seen.node.type });
  requireWritable(seen);
  await parts.children.take(parentId);
  if (!dryRun) holdParent(parts, seen.node, context);
  return { parent: seen.node, node: seen.node, key: parentId, depth: seen.node.ancestors.length + 1 };
}

/** Whoever moves, restricts or trashes the parent meanwhile and we must not both succeed. */
function holdParent(parts: Parts, parent: Node, { work }: CallContext): void {
  if (mayHaveChildren(parent)) work.expect(parts.tree.nodes, parent);
  else work.replace(parts.tree.nodes, parent, { ...parent, parented: true });
}

/** The root of a workspace that the caller may put things into. */
export async function intoRoot(
  parts: Parts,
  workspaceId: string,
  standing: Standing,
  context: CallContext,
): Promise<Destination> {
  const membership = await parts.policy.enter(workspaceId, standing, context);
  requireWorkspaceRole(membership, WorkspaceRole.EDITOR);
  requireActive(membership);
  await parts.children.take(workspaceId);
  return { parent: rootPlace(workspaceId, membership.orgId || null), key: workspaceId, depth: 0 };
}

function requireActive(membership: WorkspaceMembership): void {
  if (membership.archived) throw WorkspaceArchived();
}

/** Both given, parent and workspace have to agree. */
export function requireSameWorkspace(destination: Destination, workspaceId: string | undefined): void {
  if (workspaceId !== undefined && destination.parent.workspaceId !== workspaceId) {
    throw invalidField('parent_id', 'invalid_value', 'parent_id is a resource of another workspace.');
  }
}

/** Moving and copying end at the tenant's boundary. */
export function requireSameTenant(from: Pick<Place, 'orgId'>, to: Destination): void {
  if (from.orgId !== to.parent.orgId) throw TenantBoundary();
}
