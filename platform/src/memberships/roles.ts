import type { AgentRole } from '@commonplace/kit/auth';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';

/** Workspace roles from the weakest to the strongest. */
const ASCENDING: readonly WorkspaceRole[] = [
  WorkspaceRole.UNSPECIFIED,
  WorkspaceRole.GUEST,
  WorkspaceRole.VIEWER,
  WorkspaceRole.COMMENTER,
  WorkspaceRole.EDITOR,
  WorkspaceRole.ADMIN,
  WorkspaceRole.OWNER,
];

const AGENT_ROLE_NAMES: Readonly<Record<AgentRole, WorkspaceRole>> = {
  viewer: WorkspaceRole.VIEWER,
  commenter: WorkspaceRole.COMMENTER,
  editor: WorkspaceRole.EDITOR,
};

/** Returns whether a workspace role includes all rights of `least`; false without a role. */
export function isWorkspaceRoleAtLeast(role: WorkspaceRole | undefined, least: WorkspaceRole): boolean {
  return role !== undefined && ASCENDING.indexOf(role) >= ASCENDING.indexOf(least);
}

/** Returns whether the words of a person with this role in a workspace may be taken as instructions. */
export function isTrustedRole(role: WorkspaceRole | undefined): boolean {
  return isWorkspaceRoleAtLeast(role, WorkspaceRole.COMMENTER);
}

/** Returns the lesser of two workspace roles. */
export function lesserWorkspaceRole(one: WorkspaceRole, other: WorkspaceRole): WorkspaceRole {
  return isWorkspaceRoleAtLeast(one, other) ? other : one;
}

/** Roles in an Org from the weakest to the strongest. */
const ASCENDING_IN_ORG: readonly OrgRole[] = [
  OrgRole.UNSPECIFIED,
  OrgRole.GUEST,
  OrgRole.MEMBER,
  OrgRole.ADMIN,
  OrgRole.OWNER,
];

/** Returns whether a role in an Org includes all rights of `least`; false without a role. */
export function isOrgRoleAtLeast(role: OrgRole | undefined, least: OrgRole): boolean {
  return role !== undefined && ASCENDING_IN_ORG.indexOf(role) >= ASCENDING_IN_ORG.indexOf(least);
}

/** Returns the lesser of two roles in an Org. */
export function lesserOrgRole(one: OrgRole, other: OrgRole): OrgRole {
  return isOrgRoleAtLeast(one, other) ? other : one;
}

/** Returns the agent's role of a contract's name, `viewer` unless it has one. */
export function agentRoleNamed(name: WorkspaceRole): AgentRole {
  return (Object.keys(AGENT_ROLE_NAMES) as AgentRole[]).find((role) => AGENT_ROLE_NAMES[role] === name) ?? 'viewer';
}

/** Returns the contract's name of an agent's role. */
export function agentRoleName(role: AgentRole): WorkspaceRole {
  return AGENT_ROLE_NAMES[role];
}
