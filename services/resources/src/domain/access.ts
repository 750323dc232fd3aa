import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import type { Grant } from '../stores/grants.js';
import type { Node } from '../stores/nodes.js';

/** Roles on a resource; a later one holds all rights of the earlier ones. */
export const ROLES = ['viewer', 'commenter', 'editor', 'manager', 'owner'] as const;
export type Role = (typeof ROLES)[number];

/** The least role for each kind of act. */
export const LEAST_ROLE = {
  read: 'viewer',
  comment: 'commenter',
  write: 'editor',
  manage: 'manager',
  own: 'owner',
} as const satisfies Record<string, Role>;
export type Capability = keyof typeof LEAST_ROLE;

export function may(role: Role, capability: Capability): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(LEAST_ROLE[capability]);
}

/** A role, and where it comes from. */
export interface Access {
  readonly role: Role;
  readonly source: 'workspace' | 'direct' | 'ancestor' | 'org';
  readonly sourceResourceId?: string;
  readonly expiresAt?: string;
}

const AT_ROOT: Partial<Record<WorkspaceRole, Role>> = {
  [WorkspaceRole.OWNER]: 'owner',
  [WorkspaceRole.ADMIN]: 'manager',
  [WorkspaceRole.EDITOR]: 'editor',
  [WorkspaceRole.COMMENTER]: 'commenter',
  [WorkspaceRole.VIEWER]: 'viewer',
};

/** The role at the tree's root that a workspace role gives; a guest has none. */
export function roleAtRoot(role: WorkspaceRole | undefined): Role | undefined {
  return role === undefined ? undefined : AT_ROOT[role];
}

export function administers(role: WorkspaceRole | undefined): boolean {
  return role === WorkspaceRole.OWNER || role === WorkspaceRole.ADMIN;
}

/**
 * effective(node, person) = max(direct grants on node, node restricted ? none : effective(parent)).
 * Below a restriction the workspace's owners and administrators stay managers.
 *
 * `grants` are those of the person and all that they belong to; `now` is an RFC 3339 time.
 */
export function effectiveAccess(
  node: Pick<Node, 'id' | 'workspaceId' | 'ancestors' | 'boundary'>,
  workspaceRole: WorkspaceRole | undefined,
  grants: readonly Grant[],
  now: string,
): Access | undefined {
  let best = inherited(node, workspaceRole);
  const reach = reachOfGrants(node);
  for (const grant of grants) {
    if (grant.expiresAt !== undefined && grant.expiresAt <= now) continue;
    if (!reach.includes(grant.resourceId)) continue;
    if (best !== undefined && ROLES.indexOf(best.role) >= ROLES.indexOf(grant.role)) continue;
    best = fromGrant(node, grant);
  }
  return best;
}

/** The nodes whose grants hold for a node: itself, and its ancestors down from its boundary. */
export function reachOfGrants(node: Pick<Node, 'id' | 'workspaceId' | 'ancestors' | 'boundary'>): string[] {
  if (node.boundary === node.id) return [node.id];
  const from = node.boundary === node.workspaceId ? 0 : node.ancestors.indexOf(node.boundary);
  return [...node.ancestors.slice(Math.max(from, 0)), node.id];
}

function inherited(
  node: Pick<Node, 'workspaceId' | 'boundary'>,
  workspaceRole: WorkspaceRole | undefined,
): Access | undefined {
  if (node.boundary !== node.workspaceId) {
    return administers(workspaceRole) ? { role: 'manager', source: 'workspace' } : undefined;
  }
  const role = roleAtRoot(workspaceRole);
  return role === undefined ? undefined : { role, source: 'workspace' };
}

function fromGrant(node: Pick<Node, 'id'>, grant: Grant): Access {
  const direct = grant.resourceId === node.id;
  const byOrg = grant.principal.startsWith('org:');
  return {
    role: grant.role,
    source: byOrg ? 'org' : direct ? 'direct' : 'ancestor',
    ...(direct ? {} : { sourceResourceId: grant.resourceId }),
    ...(grant.expiresAt === undefined ? {} : { expiresAt: grant.expiresAt }),
  };
}
