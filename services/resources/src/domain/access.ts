import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { type Grant, grantAt } from './grant.js';
import type { Node } from './node.js';
import { splitPrincipal } from './principals.js';
import { isAtLeast, type Role } from './role.js';

/** A role, with where it comes from. */
export interface Access {
  readonly role: Role;
  readonly source: 'workspace' | 'direct' | 'ancestor' | 'org' | 'link' | 'agent';
  readonly sourceResourceId?: string;
  readonly expiresAt?: string;
  /** Set if nothing but the person's role in the workspace lets them below a restriction: they hold no grant there. */
  readonly breakGlass?: true;
}

const AT_ROOT: Partial<Record<WorkspaceRole, Role>> = {
  [WorkspaceRole.OWNER]: 'owner',
  [WorkspaceRole.ADMIN]: 'manager',
  [WorkspaceRole.EDITOR]: 'editor',
  [WorkspaceRole.COMMENTER]: 'commenter',
  [WorkspaceRole.VIEWER]: 'viewer',
};

/** Returns the role that a workspace role gives at the root of the tree; a guest gets none. */
export function roleAtRoot(role: WorkspaceRole | undefined): Role | undefined {
  return role === undefined ? undefined : AT_ROOT[role];
}

/**
 * Returns the access of a principal whom another one limits: the lesser role, until the earlier of their ends. It is
 * break-glass if the limited one's is.
 */
export function lesserAccess(one: Access, other: Access | undefined): Access | undefined {
  if (other === undefined) return undefined;
  const { expiresAt: _, breakGlass: __, ...lesser } = isAtLeast(one.role, other.role) ? other : one;
  const [end] = [one.expiresAt, other.expiresAt].filter((at) => at !== undefined).sort();
  return { ...lesser, ...(end === undefined ? {} : { expiresAt: end }), ...(one.breakGlass && { breakGlass: true }) };
}

export function administers(role: WorkspaceRole | undefined): boolean {
  return role === WorkspaceRole.OWNER || role === WorkspaceRole.ADMIN;
}

/**
 * Returns a person's access to a node: effective(node, person) = max(direct grants on node, node restricted ? none :
 * effective(parent)). Below a restriction the workspace's owners and administrators remain managers.
 *
 * `grants` are those of the person and of all that they belong to; `now` is an RFC 3339 time.
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
  for (const stored of grants) {
    const grant = grantAt(stored, now);
    if (grant === undefined || !reach.includes(grant.resourceId)) continue;
    if (best === undefined || outweighs(grant, best, reach)) best = grant;
  }
  if (best === undefined) return access && isRestricted(node) ? { ...access, breakGlass: true } : access;
  return access !== undefined && isAtLeast(access.role, best.role) ? access : fromGrant(node, best);
}

/**
 * Returns whether a valid grant takes precedence over another: by the greater role, then the later expiry, then the
 * nearer node.
 */
function outweighs(one: Grant, other: Grant, reach: readonly string[]): boolean {
  if (one.role !== other.role) return isAtLeast(one.role, other.role);
  if (one.expiresAt !== other.expiresAt) return (one.expiresAt ?? NO_EXPIRY) > (other.expiresAt ?? NO_EXPIRY);
  const distance = reach.indexOf(one.resourceId) - reach.indexOf(other.resourceId);
  return distance === 0 ? one.principal < other.principal : distance > 0;
}

/** Sorts after every RFC 3339 time. */
const NO_EXPIRY = '~';

/** Returns the ids of the nodes whose grants apply to a node: its ancestors from the boundary down, and itself. */
export function reachOfGrants(node: Pick<Node, 'id' | 'workspaceId' | 'ancestors' | 'boundary'>): string[] {
  if (node.boundary === node.id) return [node.id];
  const from = node.boundary === node.workspaceId ? 0 : node.ancestors.indexOf(node.boundary);
  return [...node.ancestors.slice(Math.max(from, 0)), node.id];
}

/** Returns whether a node or one above it is restricted. */
function isRestricted({ boundary, workspaceId }: Pick<Node, 'workspaceId' | 'boundary'>): boolean {
  return boundary !== workspaceId;
}

function inherited(
  node: Pick<Node, 'workspaceId' | 'boundary'>,
  workspaceRole: WorkspaceRole | undefined,
): Access | undefined {
  if (isRestricted(node)) {
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
