import type { CallContext } from '@commonplace/kit/rpc';
import { LastOwner } from '../errors.js';
import type { Parts } from '../parts.js';
import { touchGuard } from '../stores/guards.js';
import type { OrgMember } from '../stores/org-members.js';
import type { WorkspaceMember } from '../stores/workspace-members.js';

/**
 * Throws LastOwner if a member is the last active owner of an Org. It reads the guard before the owners, so that of
 * two owners who leave concurrently one fails.
 */
export async function requireOtherOrgOwner(parts: Parts, context: CallContext, member: OrgMember): Promise<void> {
  if (member.role !== 'owner' || member.status !== 'active') return;
  await touchGuard(context.work, parts.guards, `org:${member.orgId}`, member.tenant);
  const owners = await parts.orgMembers.owners(member.orgId);
  if (!owners.some(({ id }) => id !== member.id)) throw LastOwner();
}

/**
 * Makes this unit of work, which gives a member of an Org a place in one of its workspaces, fail if the person leaves or
 * is suspended concurrently.
 */
export async function holdOrgMember(parts: Parts, context: CallContext, member: OrgMember): Promise<void> {
  context.work.expect(parts.orgMembers.records, member);
  await holdPlaces(parts, context, member);
}

/**
 * Makes this unit of work fail if the person's places in the workspaces of an Org change concurrently. It has to be called
 * before these are read.
 */
export async function holdPlaces(
  parts: Parts,
  context: CallContext,
  { orgId, userId, tenant }: OrgMember,
): Promise<void> {
  if (userId === undefined) return;
  await touchGuard(context.work, parts.guards, `places:${orgId}:${userId}`, tenant);
}

/** Throws LastOwner if a member is the last active owner of a workspace. */
export async function requireOtherWorkspaceOwner(
  parts: Parts,
  context: CallContext,
  member: WorkspaceMember,
): Promise<void> {
  if (member.role === 'owner' && member.status === 'active' && (await isOnlyOwner(parts, context, member))) {
    throw LastOwner();
  }
}

/**
 * Returns whether a workspace has no other active owner. A concurrent change to the owners makes this unit of work
 * fail.
 */
export async function isOnlyOwner(parts: Parts, context: CallContext, member: WorkspaceMember): Promise<boolean> {
  await touchGuard(context.work, parts.guards, `workspace:${member.workspaceId}`, member.tenant);
  const owners = await parts.workspaceMembers.owners(member.workspaceId);
  return !owners.some(({ id }) => id !== member.id);
}
