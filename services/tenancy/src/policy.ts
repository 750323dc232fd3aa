import { type Caller, reachesTenant, reachesWorkspace } from '@commonplace/kit/auth';
import { InsufficientRole, NotFound, TenantBoundary } from '@commonplace/kit/errors';
import {
  effectiveRole,
  type OrgRole,
  orgRoleAtLeast,
  type WorkspaceRole,
  workspaceRoleAtLeast,
} from './domain/roles.js';
import { RoleEscalation, WorkspaceArchived } from './errors.js';
import type { Stores } from './parts.js';
import type { OrgMember } from './stores/org-members.js';
import type { Org } from './stores/orgs.js';
import type { WorkspaceMember } from './stores/workspace-members.js';
import type { Workspace } from './stores/workspaces.js';

/** An Org that the caller is in, and their place there. */
export interface OrgStanding {
  readonly org: Org;
  readonly member: OrgMember;
}

/** A workspace that the caller sees. */
export interface WorkspaceStanding {
  readonly workspace: Workspace;
  /** Their role; absent for an administrator of the Org who has not joined. */
  readonly role: WorkspaceRole | undefined;
  /** Their own place, where they don't owe the role to `default_role` alone. */
  readonly place: WorkspaceMember | undefined;
  /** The Org and the caller's place in it; absent for a Personal workspace. */
  readonly inOrg: OrgStanding | undefined;
}

export interface Policy {
  /**
   * An Org exists for its active members alone, and not at all once it is to be deleted. Throws
   * NotFound, or TenantBoundary where another credential of the person would do.
   */
  seeOrg(orgId: string, caller: Caller): Promise<OrgStanding>;
  /** The same, and for an owner an Org that is to be deleted as well. */
  seeOrgToRestore(orgId: string, caller: Caller): Promise<OrgStanding>;
  /** A workspace exists for those with a role in it and for the administrators of its Org; throws likewise. */
  seeWorkspace(workspaceId: string, caller: Caller): Promise<WorkspaceStanding>;
}

export function createPolicy({ orgs, orgMembers, workspaces, workspaceMembers }: Stores): Policy {
  async function activePlace(orgId: string, userId: string): Promise<OrgStanding | undefined> {
    const [org, member] = await Promise.all([orgs.records.get(orgId), orgMembers.ofPerson(orgId, userId)]);
    return org !== undefined && member?.status === 'active' ? { org, member } : undefined;
  }

  async function seeOrgIf(orgId: string, caller: Caller, isSeen: (standing: OrgStanding) => boolean) {
    const standing = await activePlace(orgId, caller.userId);
    if (standing === undefined || !isSeen(standing)) throw NotFound();
    if (!reachesTenant(caller, orgId)) throw TenantBoundary();
    return standing;
  }

  return {
    seeOrg: (orgId, caller) => seeOrgIf(orgId, caller, isActive),
    seeOrgToRestore: (orgId, caller) =>
      seeOrgIf(orgId, caller, (standing) => isActive(standing) || standing.member.role === 'owner'),
    async seeWorkspace(workspaceId, caller) {
      const [workspace, place] = await Promise.all([
        workspaces.records.get(workspaceId),
        workspaceMembers.ofPerson(workspaceId, caller.userId),
      ]);
      if (workspace === undefined) throw NotFound();
      const standing = await standingIn(workspace, place, caller.userId, activePlace);
      if (standing === undefined) throw NotFound();
      if (!reachesWorkspace(caller, workspaceId, workspace.orgId ?? null)) throw TenantBoundary();
      return standing;
    },
  };
}

function isActive({ org }: OrgStanding): boolean {
  return org.status === 'active';
}

async function standingIn(
  workspace: Workspace,
  place: WorkspaceMember | undefined,
  userId: string,
  activePlace: (orgId: string, userId: string) => Promise<OrgStanding | undefined>,
): Promise<WorkspaceStanding | undefined> {
  const own = place?.status === 'active' ? place : undefined;
  if (workspace.orgId === undefined) {
    return own && { workspace, role: own.role, place: own, inOrg: undefined };
  }
  const inOrg = await activePlace(workspace.orgId, userId);
  if (inOrg === undefined || !isActive(inOrg)) return undefined;
  const role = effectiveRole(own?.role, workspace.defaultRole, inOrg.member.role);
  if (role === undefined && !orgRoleAtLeast(inOrg.member.role, 'admin')) return undefined;
  return { workspace, role, place: own, inOrg };
}

/** Refuses a role in the Org below `least`. */
export function requireOrgRole({ member }: OrgStanding, least: OrgRole): void {
  if (!orgRoleAtLeast(member.role, least)) throw InsufficientRole({ role: member.role, needed: least });
}

/** Refuses a role in the workspace below `least`. */
export function requireWorkspaceRole({ role }: WorkspaceStanding, least: WorkspaceRole): void {
  if (!workspaceRoleAtLeast(role, least)) throw InsufficientRole({ role: role ?? null, needed: least });
}

/** Nobody grants a role above their own. */
export function requireOrgGrant(own: OrgRole, granted: OrgRole): void {
  if (!orgRoleAtLeast(own, granted)) throw RoleEscalation({ own });
}

export function requireWorkspaceGrant(own: WorkspaceRole, granted: WorkspaceRole): void {
  if (!workspaceRoleAtLeast(own, granted)) throw RoleEscalation({ own });
}

/** Only owners change or remove an owner. */
export function requireOwnerForOwner(own: OrgRole | WorkspaceRole, target: OrgRole | WorkspaceRole): void {
  if (target === 'owner' && own !== 'owner') throw InsufficientRole({ role: own, needed: 'owner' });
}

/** The state gate of everything that writes below a workspace. */
export function requireActiveWorkspace({ state }: Workspace): void {
  if (state === 'archived') throw WorkspaceArchived();
}

/** Whether a member of an Org may create workspaces there. */
export function mayCreateWorkspace({ org, member }: OrgStanding): boolean {
  const least = org.settings.membersCanCreateWorkspaces === false ? 'admin' : 'member';
  return orgRoleAtLeast(member.role, least);
}
