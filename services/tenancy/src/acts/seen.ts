import { type Caller, reachesTenant, reachesWorkspace } from '@commonplace/kit/auth';
import { effectiveRole, orgRoleAtLeast, type WorkspaceRole } from '../domain/roles.js';
import type { Parts } from '../parts.js';
import type { OrgAccess } from '../policy.js';
import type { Group } from '../stores/groups.js';
import type { Stores } from '../stores/open.js';
import type { OrgMember } from '../stores/org-members.js';
import type { Workspace } from '../stores/workspaces.js';

/** A workspace and a person's role in it; undefined for an Org administrator who has not joined. */
export interface SeenWorkspace {
  readonly workspace: Workspace;
  readonly role: WorkspaceRole | undefined;
}

/**
 * Returns the caller's Orgs that their credential reaches. `hidden` selects instead those that they own and whose
 * deletion is scheduled.
 */
export async function seenOrgs(stores: Stores, caller: Caller, hidden: boolean): Promise<OrgAccess[]> {
  const orgAccess = await orgsOf(stores, caller.userId);
  return orgAccess.filter(
    ({ org, member }) =>
      reachesTenant(caller, org.id) &&
      (hidden ? org.status === 'deletion_scheduled' && member.role === 'owner' : org.status === 'active'),
  );
}

/** Returns all Orgs that a person is an active member of, including those whose deletion is scheduled. */
export async function orgsOf({ orgs, orgMembers }: Stores, userId: string): Promise<OrgAccess[]> {
  const members = await orgMembers.activeOf(userId);
  if (members.length === 0) return [];
  const byOrg = new Map(members.map((member) => [member.orgId, member]));
  const found = await orgs.records.getMany([...byOrg.keys()]);
  return found.map((org) => ({ org, member: byOrg.get(org.id) as OrgMember }));
}

/** Returns the groups of these Orgs that a person is in. Suspended members are in none. */
export async function groupsOf({ groups }: Stores, userId: string, orgAccess: readonly OrgAccess[]): Promise<Group[]> {
  if (orgAccess.length === 0) return [];
  const places = await groups.placesOf(userId);
  if (places.length === 0) return [];
  const memberIds = new Set(orgAccess.map(({ member }) => member.id));
  const counting = places.filter(({ orgMemberId }) => memberIds.has(orgMemberId));
  return groups.records.getMany(counting.map(({ groupId }) => groupId));
}

/**
 * Returns the workspaces of one tenant in which the caller has a role and that their credential reaches. `inOrg` is
 * undefined for the Personal tenant.
 */
export async function joinedWorkspaces(
  parts: Parts,
  caller: Caller,
  inOrg: OrgAccess | undefined,
): Promise<SeenWorkspace[]> {
  const orgAccess = inOrg === undefined ? [] : [inOrg];
  const all = await workspacesOf(parts, caller.userId, orgAccess, (orgId) => orgId === inOrg?.org.id);
  return all.filter(({ workspace }) => reachesWorkspace(caller, workspace.id, workspace.orgId ?? null));
}

/**
 * Returns the workspaces in which a person has a role, by their own membership or by the default role for their
 * Org.
 */
export async function workspacesOf(
  { workspaces, workspaceMembers }: Stores,
  userId: string,
  orgAccess: readonly OrgAccess[],
  isWanted: (orgId: string | undefined) => boolean,
): Promise<SeenWorkspace[]> {
  const orgRoles = new Map(orgAccess.map(({ org, member }) => [org.id, member.role]));
  const full = orgAccess.filter(({ member }) => orgRoleAtLeast(member.role, 'member')).map(({ org }) => org.id);
  const [places, byDefault] = await Promise.all([workspaceMembers.activeOf(userId), workspaces.withDefaultRole(full)]);
  const own = new Map(places.filter(({ orgId }) => isWanted(orgId)).map((place) => [place.workspaceId, place.role]));
  const joined = own.size === 0 ? [] : await workspaces.records.getMany([...own.keys()]);
  const found = new Map([...joined, ...byDefault].map((workspace) => [workspace.id, workspace]));
  return [...found.values()].flatMap((workspace) => {
    const orgRole = workspace.orgId === undefined ? undefined : orgRoles.get(workspace.orgId);
    const role = effectiveRole(own.get(workspace.id), workspace.defaultRole, orgRole);
    return role === undefined ? [] : [{ workspace, role }];
  });
}
