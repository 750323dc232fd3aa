import { agentRoleIn, type Caller, credentialOutOfScope, reachesTenant, reachesWorkspace } from '@commonplace/kit/auth';
import { InsufficientRole, NotFound, WorkspaceArchived } from '@commonplace/kit/errors';
import {
  effectiveRole,
  type OrgRole,
  orgRoleAtLeast,
  type WorkspaceRole,
  workspaceRoleAtLeast,
} from './domain/roles.js';
import { RoleEscalation } from './errors.js';
import type { Stores } from './stores/open.js';
import type { OrgMember } from './stores/org-members.js';
import type { Org } from './stores/orgs.js';
import type { WorkspaceMember } from './stores/workspace-members.js';
import type { Workspace } from './stores/workspaces.js';

/** An Org that the caller is an active member of, with their membership. */
export interface OrgAccess {
  readonly org: Org;
  readonly member: OrgMember;
}

/** A workspace that the caller can see. */
export interface WorkspaceAccess {
  readonly workspace: Workspace;
  /** The caller's effective role; undefined for an Org administrator who has not joined the workspace. */
  readonly role: WorkspaceRole | undefined;
  /** The caller's own membership; undefined if `default_role` alone gives them the role. */
  readonly place: WorkspaceMember | undefined;
  /** The Org and the caller's membership in it; undefined for a Personal workspace. */
  readonly inOrg: OrgAccess | undefined;
}

export interface Policy {
  /**
   * Returns an Org and the caller's membership in it. Only active members see an Org, and no one sees one whose
   * deletion is scheduled. Throws NotFound, or TenantBoundary if another credential of the same person would reach
   * it.
   */
  seeOrg(orgId: string, caller: Caller): Promise<OrgAccess>;
  /** Does the same as `seeOrg`, but also returns to its owners an Org whose deletion is scheduled. */
  seeOrgToRestore(orgId: string, caller: Caller): Promise<OrgAccess>;
  /**
   * Returns a workspace to those who have a role in it and to the administrators of its Org. Throws like `seeOrg`.
   */
  seeWorkspace(workspaceId: string, caller: Caller): Promise<WorkspaceAccess>;
}

export function createPolicy({ orgs, orgMembers, workspaces, workspaceMembers }: Stores): Policy {
  async function activePlace(orgId: string, userId: string): Promise<OrgAccess | undefined> {
    const [org, member] = await Promise.all([orgs.records.get(orgId), orgMembers.ofPerson(orgId, userId)]);
    return org !== undefined && member?.status === 'active' ? { org, member } : undefined;
  }

  async function seeOrgIf(orgId: string, caller: Caller, isSeen: (access: OrgAccess) => boolean) {
    const access = await activePlace(orgId, caller.userId);
    if (access === undefined || !isSeen(access)) throw NotFound();
    if (!reachesTenant(caller, orgId)) throw credentialOutOfScope(caller, orgId);
    return withoutAdministration(access, caller);
  }

  return {
    seeOrg: (orgId, caller) => seeOrgIf(orgId, caller, isActive),
    seeOrgToRestore: (orgId, caller) =>
      seeOrgIf(orgId, caller, (access) => isActive(access) || access.member.role === 'owner'),
    async seeWorkspace(workspaceId, caller) {
      const [workspace, place] = await Promise.all([
        workspaces.records.get(workspaceId),
        workspaceMembers.ofPerson(workspaceId, caller.userId),
      ]);
      const access = workspace && (await accessIn(workspace, place, caller.userId, activePlace));
      if (workspace === undefined || access === undefined) {
        // Reads an Org membership even if there is none to find, so that response time reveals nothing.
        if (workspace?.orgId === undefined) await activePlace(workspaceId, caller.userId);
        throw NotFound();
      }
      const orgId = workspace.orgId ?? null;
      if (!reachesWorkspace(caller, workspaceId, orgId)) throw credentialOutOfScope(caller, orgId);
      return sharedWithAgent(access, caller);
    },
  };
}

/** Returns the access to a workspace that an agent shares with the person, with the lesser of their roles. */
function sharedWithAgent(access: WorkspaceAccess, caller: Caller): WorkspaceAccess {
  if (caller.agent === undefined) return access;
  const { workspace, role, inOrg } = access;
  const most = agentRoleIn(caller.agent, workspace.id);
  return {
    ...access,
    role: most === undefined || workspaceRoleAtLeast(most, role ?? 'guest') ? role : most,
    inOrg: inOrg && withoutAdministration(inOrg, caller),
  };
}

/** Returns the access to an Org; an agent gets no administrator role in it. */
function withoutAdministration(access: OrgAccess, caller: Caller): OrgAccess {
  if (caller.agent === undefined || !orgRoleAtLeast(access.member.role, 'admin')) return access;
  return { ...access, member: { ...access.member, role: 'member' } };
}

function isActive({ org }: OrgAccess): boolean {
  return org.status === 'active';
}

async function accessIn(
  workspace: Workspace,
  place: WorkspaceMember | undefined,
  userId: string,
  activePlace: (orgId: string, userId: string) => Promise<OrgAccess | undefined>,
): Promise<WorkspaceAccess | undefined> {
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

/** Throws InsufficientRole if the member's role in the Org is below `least`. */
export function requireOrgRole({ member }: OrgAccess, least: OrgRole): void {
  if (!orgRoleAtLeast(member.role, least)) throw InsufficientRole({ role: member.role, needed: least });
}

/** Throws InsufficientRole if the caller's role in the workspace is below `least`. */
export function requireWorkspaceRole({ role }: WorkspaceAccess, least: WorkspaceRole): void {
  if (!workspaceRoleAtLeast(role, least)) throw InsufficientRole({ role: role ?? null, needed: least });
}

/** Throws RoleEscalation if the caller grants a role above their own. */
export function requireOrgGrant(own: OrgRole, granted: OrgRole): void {
  if (!orgRoleAtLeast(own, granted)) throw RoleEscalation({ own });
}

export function requireWorkspaceGrant(own: WorkspaceRole, granted: WorkspaceRole): void {
  if (!workspaceRoleAtLeast(own, granted)) throw RoleEscalation({ own });
}

/** Throws InsufficientRole if a person who is not an owner changes or removes an owner. */
export function requireOwnerForOwner(own: OrgRole | WorkspaceRole, target: OrgRole | WorkspaceRole): void {
  if (target === 'owner' && own !== 'owner') throw InsufficientRole({ role: own, needed: 'owner' });
}

/** Throws WorkspaceArchived for an archived workspace. Everything that writes inside a workspace calls this. */
export function requireActiveWorkspace({ state }: Workspace): void {
  if (state === 'archived') throw WorkspaceArchived();
}

/** Returns whether a member of an Org may create workspaces in it. */
export function mayCreateWorkspace({ org, member }: OrgAccess): boolean {
  const least = org.settings.membersCanCreateWorkspaces === false ? 'admin' : 'member';
  return orgRoleAtLeast(member.role, least);
}
