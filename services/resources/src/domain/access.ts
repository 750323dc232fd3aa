import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { type Grant, isExpired } from '../stores/grants.js';
import type { Node } from '../stores/nodes.js';
import { splitPrincipal } from './principals.js';

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
  return isAtLeast(role, LEAST_ROLE[capability]);
}

/** Whether a role holds all rights of another. */
export function isAtLeast(role: Role, least: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(least);
}

/** A role, and where it comes from. */
export interface Access {
  readonly role: Role;
  readonly source: 'workspace' | 'direct' | 'ancestor' | 'org' | 'link' | 'agent';
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
  const access = inherited(node, workspaceRole);
  const reach = reachOfGrants(node);
  let best: Grant | undefined;
  for (const grant of grants) {
    if (isExpired(grant, now) || !reach.includes(grant.resourceId)) continue;
    if (best === undefined || outweighs(grant, best, reach)) best = grant;
  }
  if (best === undefined || (access !== undefined && isAtLeast(access.role, best.role))) return access;
  return fromGrant(node, best);
}

/** Of two grants that hold, the one that says why: the greater, then the one that lasts, then the nearer. */
function outweighs(one: Grant, other: Grant, reach: readonly string[]): boolean {
  if (one.role !== other.role) return isAtLeast(one.role, other.role);
  if (one.expiresAt !== other.expiresAt) return (one.expiresAt ?? LASTING) > (other.expiresAt ?? LASTING);
  const distance = reach.indexOf(one.resourceId) - reach.indexOf(other.resourceId);
  return distance === 0 ? one.principal < other.principal : distance > 0;
}

/** Behind every time. */
const LASTING = '~';

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
  const { kind } = splitPrincipal(grant.principal);
  return {
    role: grant.role,
    source: kind === 'org' || kind === 'link' || kind === 'agent' ? kind : direct ? 'direct' : 'ancestor',
    ...(direct ? {} : { sourceResourceId: grant.resourceId }),
    ...(grant.expiresAt === undefined ? {} : { expiresAt: grant.expiresAt }),
  };
}
