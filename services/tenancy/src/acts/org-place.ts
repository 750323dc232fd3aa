import { newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import { publishWorkspaceMember } from '../events.js';
import type { Parts } from '../parts.js';
import { type OrgMember, personKeyOf } from '../stores/org-members.js';
import type { WorkspaceMember } from '../stores/workspace-members.js';
import { changedNow } from './changed-now.js';
import { leaveGroups } from './group-places.js';
import { endOrgMembership, revokeInvitations } from './invitations.js';
import { holdOrgMember, holdPlaces, isOnlyOwner } from './owners.js';

/**
 * Updates a person's workspace memberships after a change of their Org membership: whether they are suspended, and
 * a guest.
 */
export async function syncWorkspaceMemberships(parts: Parts, context: CallContext, member: OrgMember): Promise<void> {
  if (member.userId === undefined) return;
  await holdPlaces(parts, context, member);
  const status = member.status === 'suspended' ? 'suspended' : 'active';
  const guest = member.role === 'guest';
  for (const { id } of await parts.workspaceMembers.inOrg(member.userId, member.orgId)) {
    const place = await context.work.get(parts.workspaceMembers.records, id);
    if (place === undefined || (place.status === status && place.guest === guest)) continue;
    context.work.replace(parts.workspaceMembers.records, place, {
      ...place,
      status,
      guest,
      ...changedNow(parts, context),
    });
  }
}

/** Withdraws the offer of an Org membership, with its invitations and the workspace memberships that they offer. */
export async function withdrawOffer(parts: Parts, context: CallContext, member: OrgMember): Promise<void> {
  const invitations = await parts.invitations.ofOrgMember(member.id);
  revokeInvitations(parts, context, invitations);
  for (const { workspaceMemberId } of invitations) {
    const place = workspaceMemberId && (await context.work.get(parts.workspaceMembers.records, workspaceMemberId));
    if (place && place.status === 'invited') context.work.remove(parts.workspaceMembers.records, place);
  }
  endOrgMembership(parts, context, member);
}

/**
 * Ends a person's membership of an Org and of all its workspaces and groups. Workspaces without another owner go to `successor`,
 * whom the event names too. Returns the ids of these workspaces.
 */
export async function removeFromOrg(
  parts: Parts,
  context: CallContext,
  member: OrgMember & { readonly userId: string },
  successor: OrgMember,
): Promise<string[]> {
  const transferred: string[] = [];
  await holdPlaces(parts, context, member);
  for (const place of await parts.workspaceMembers.inOrg(member.userId, member.orgId)) {
    context.work.remove(parts.workspaceMembers.records, place);
    publishWorkspaceMember(context, 'removed', place);
    if (place.role === 'owner' && (await isOnlyOwner(parts, context, place))) {
      await holdOrgMember(parts, context, successor);
      await makeOwner(parts, context, place, successor);
      transferred.push(place.workspaceId);
    }
  }
  await leaveGroups(parts, context, member.orgId, member.userId);
  endOrgMembership(parts, context, member, successor.userId);
  return transferred;
}

async function makeOwner(
  parts: Parts,
  context: CallContext,
  { workspaceId, tenant, orgId }: WorkspaceMember,
  { userId = '', name, email, search, role }: OrgMember,
): Promise<void> {
  const { records, ofPerson } = parts.workspaceMembers;
  const stamps = changedNow(parts, context);
  const existing = await ofPerson(workspaceId, userId);
  if (existing !== undefined) {
    const owner = context.work.replace(records, existing, { ...existing, role: 'owner', ...stamps });
    publishWorkspaceMember(context, 'updated', owner);
    return;
  }
  const owner = context.work.insert(records, {
    id: newId(),
    tenant,
    workspaceId,
    orgId,
    userId,
    personKey: personKeyOf(workspaceId, userId),
    name,
    email,
    search,
    role: 'owner',
    status: 'active',
    guest: role === 'guest',
    addedBy: context.caller.userId,
    adder: context.actor,
    addedAt: stamps.updatedAt,
    ...stamps,
  });
  publishWorkspaceMember(context, 'added', owner);
}
