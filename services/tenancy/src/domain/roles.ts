import { enumValue } from '@commonplace/platform/enums';
import { OrgRole as OrgRoleName, WorkspaceRole as WorkspaceRoleName } from '@commonplace/proto/tenancy/v1/role.js';

/** Roles in an Org, in ascending order: each has all rights of those before it. */
export const ORG_ROLES = ['guest', 'member', 'admin', 'owner'] as const;
export type OrgRole = (typeof ORG_ROLES)[number];

/** Roles in a workspace, in ascending order likewise. A guest sees only what is shared with them. */
export const WORKSPACE_ROLES = ['guest', 'viewer', 'commenter', 'editor', 'admin', 'owner'] as const;
export type WorkspaceRole = (typeof WORKSPACE_ROLES)[number];

/** The roles that a workspace may give to every member of its Org. */
export const DEFAULT_ROLES = ['viewer', 'commenter', 'editor'] as const;
export type DefaultRole = (typeof DEFAULT_ROLES)[number];

/** The Org roles that get a workspace's default role: all but guests. */
export const FULL_ORG_ROLES = ORG_ROLES.filter((role) => role !== 'guest');

export function orgRoleAtLeast(role: OrgRole | undefined, least: OrgRole): boolean {
  return role !== undefined && ORG_ROLES.indexOf(role) >= ORG_ROLES.indexOf(least);
}

export function workspaceRoleAtLeast(role: WorkspaceRole | undefined, least: WorkspaceRole): boolean {
  return role !== undefined && WORKSPACE_ROLES.indexOf(role) >= WORKSPACE_ROLES.indexOf(least);
}

export function greaterOrgRole(a: OrgRole, b: OrgRole): OrgRole {
  return orgRoleAtLeast(a, b) ? a : b;
}

/**
 * Returns the role that a person has in a workspace: the greater of the role that they were given and the
 * workspace's default role for members of its Org.
 */
export function effectiveRole(
  direct: WorkspaceRole | undefined,
  defaultRole: DefaultRole | undefined,
  orgRole: OrgRole | undefined,
): WorkspaceRole | undefined {
  const byDefault = orgRoleAtLeast(orgRole, 'member') ? defaultRole : undefined;
  if (direct === undefined || byDefault === undefined) return direct ?? byDefault;
  return workspaceRoleAtLeast(direct, byDefault) ? direct : byDefault;
}

/** Returns the contract's name of a role. */
export function orgRoleName(role: OrgRole): OrgRoleName {
  return enumValue(OrgRoleName, role);
}

export function workspaceRoleName(role: WorkspaceRole): WorkspaceRoleName {
  return enumValue(WorkspaceRoleName, role);
}

/** Returns the role for a name of the contract; undefined for the unspecified value. */
export function orgRoleOf(name: OrgRoleName | undefined): OrgRole | undefined {
  return ORG_ROLES.find((role) => orgRoleName(role) === name);
}

export function workspaceRoleOf(name: WorkspaceRoleName | undefined): WorkspaceRole | undefined {
  return WORKSPACE_ROLES.find((role) => workspaceRoleName(role) === name);
}
