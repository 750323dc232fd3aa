import { invalidField, NotFound } from '@commonplace/kit/errors';
import { type CallContext, type Handlers, requireVersion } from '@commonplace/kit/rpc';
import { pageOf, parsePageRequest, replaceChanged } from '@commonplace/kit/store';
import { type OrgMember as OrgMemberMessage, OrgMemberStatus } from '@commonplace/proto/tenancy/v1/org.js';
import type { OrgService } from '@commonplace/proto/tenancy/v1/org_service.js';
import { addAvatars, addLastActive } from '../acts/asked-of-identity.js';
import { changedNow } from '../acts/changed-now.js';
import { countHandedOver } from '../acts/handed-over.js';
import { inviteToOrg, readInvitee, requireUnused, sendAgain } from '../acts/org-invites.js';
import { orgMemberFilter } from '../acts/org-member-filter.js';
import { removeFromOrg, syncWorkspaceMemberships, withdrawOffer } from '../acts/org-place.js';
import { requireOtherOrgOwner } from '../acts/owners.js';
import { findSuccessor, receiverOfKeys } from '../acts/successors.js';
import { maskOf } from '../domain/mask.js';
import { orgRoleOf } from '../domain/roles.js';
import { publishOrgMember } from '../events.js';
import type { Parts } from '../parts.js';
import { requireOrgGrant, requireOrgRole, requireOwnerForOwner } from '../policy.js';
import type { OrgMember } from '../stores/org-members.js';
import { toOrgMember } from '../wire/org-member.js';

type OrgMemberMethods = Pick<
  Handlers<OrgService>,
  'listOrgMembers' | 'addOrgMember' | 'updateOrgMember' | 'removeOrgMember'
>;

export function createOrgMemberHandlers(parts: Parts): OrgMemberMethods {
  const { orgMembers, policy } = parts;
  const { records } = orgMembers;

  /** Returns a membership of the given Org that has not ended. Throws NotFound otherwise. */
  async function find(orgId: string, memberId: string): Promise<OrgMember> {
    const member = await records.get(memberId);
    if (member === undefined || member.orgId !== orgId || member.status === 'removed') throw NotFound();
    return member;
  }

  /** Returns memberships for the API, with what identity knows of their people. */
  async function shown(orgId: string, members: readonly OrgMember[], context: CallContext) {
    const now = parts.now();
    const items = members.map((one) => toOrgMember(one, now));
    const people = items.map(({ user }) => user);
    await Promise.all([addLastActive(parts, orgId, items, context), addAvatars(parts, people, context)]);
    return items;
  }

  return {
    async listOrgMembers(request, context) {
      const { member } = await policy.seeOrg(request.orgId, context.caller);
      const slice = parsePageRequest(request.page);
      const where = orgMemberFilter(request, member, parts.now());
      const { limit, ...from } = slice;
      const [found, total] = await Promise.all([
        records.find({ where, limit: limit + 1, ...from }),
        records.count(where),
      ]);
      const { items, page } = pageOf(slice, found, total);
      return { items: await shown(request.orgId, items, context), page };
    },

    async addOrgMember(request, context) {
      const access = await policy.seeOrg(request.orgId, context.caller);
      requireOrgRole(access, 'admin');
      const role = orgRoleOf(request.role);
      requireOrgGrant(access.member.role, role ?? 'member');
      const offered = await readInvitee(parts, context, access.org, request);
      const existing = await requireUnused(parts, access.org.id, offered);
      if (existing !== undefined) {
        requireOwnerForOwner(access.member.role, existing.role);
        const { member, url } = await sendAgain(parts, context, existing, role, request.message, offered.anyAccount);
        context.reply.status = 200;
        return toOrgMember(member, parts.now(), url);
      }
      const { member, url } = await inviteToOrg(parts, context, access.org, offered, role ?? 'member', request.message);
      return toOrgMember(member, parts.now(), url);
    },

    async updateOrgMember(request, context) {
      const access = await policy.seeOrg(request.orgId, context.caller);
      const member = await find(request.orgId, request.memberId);
      const mask = maskOf(request.updateMask);
      const role = mask.has('role') ? orgRoleOf(request.role) : undefined;
      requireOrgRole(access, 'admin');
      requireOwnerForOwner(access.member.role, member.role);
      if (role !== undefined) requireOrgGrant(access.member.role, role);
      const status = mask.has('status') ? readStatus(request.status, member) : member.status;
      requireVersion(context, member.version, { ...member, createdBy: member.inviter });
      const after = { ...member, role: role ?? member.role, status, ...changedNow(parts, context) };
      if (after.role !== 'owner' || status !== 'active') await requireOtherOrgOwner(parts, context, member);
      const changed = replaceChanged(context.work, records, member, after);
      if (changed !== member) {
        await syncWorkspaceMemberships(parts, context, changed);
        publishOrgMember(context, 'updated', changed);
      }
      const [answer] = await shown(request.orgId, [changed], context);
      return answer as OrgMemberMessage;
    },

    async removeOrgMember(request, context) {
      const { orgId, memberId } = request;
      const access = await policy.seeOrg(orgId, context.caller);
      const member = await find(orgId, memberId);
      if (member.id !== access.member.id) {
        requireOrgRole(access, 'admin');
        requireOwnerForOwner(access.member.role, member.role);
      }
      const successor = await findSuccessor(parts, member, request.transferToMemberId);
      requireVersion(context, member.version, { ...member, createdBy: member.inviter });
      if (!hasPerson(member)) {
        await withdrawOffer(parts, context, member);
        return { id: memberId, deleted: true, transferred: { resources: 0, agents: 0, apiKeys: 0, automations: 0 } };
      }
      await requireOtherOrgOwner(parts, context, member);
      const named = request.transferToMemberId === undefined ? undefined : successor;
      const apiKeys = await transferKeys(parts, context, member, receiverOfKeys(access.member, member, named));
      const workspaceIds = await removeFromOrg(parts, context, member, successor as OrgMember);
      const resources = await transferResources(parts, context, member, successor as OrgMember, workspaceIds);
      // Agents and automations follow the event that the member was removed.
      const handedOver = await countHandedOver(parts, context, member, successor as OrgMember, workspaceIds);
      return { id: memberId, deleted: true, transferred: { resources, apiKeys, ...handedOver } };
    },
  };
}

function hasPerson(member: OrgMember): member is OrgMember & { readonly userId: string } {
  return member.status !== 'invited';
}

/** Returns the requested status. Throws if the membership cannot take it: only the invited person can accept. */
function readStatus(status: OrgMemberStatus | undefined, member: OrgMember): 'active' | 'suspended' {
  if (status !== OrgMemberStatus.ACTIVE && status !== OrgMemberStatus.SUSPENDED) {
    throw invalidField('status', 'invalid_value', 'must be active or suspended.');
  }
  if (member.status === 'invited') {
    throw invalidField('status', 'invalid_value', 'changes automatically when the invitation is accepted.');
  }
  return status === OrgMemberStatus.ACTIVE ? 'active' : 'suspended';
}

/**
 * Transfers the person's keys to their receiver, or suspends them without one. Returns the number of
 * transferred keys.
 */
async function transferKeys(
  { users }: Parts,
  context: CallContext,
  { orgId, userId }: { readonly orgId: string; readonly userId: string },
  receiver: OrgMember | undefined,
): Promise<number> {
  const toUserId = receiver?.userId ?? '';
  const { reassigned } = await users.reassignKeys({ orgId, userId, toUserId }, context.onward);
  return toUserId === '' ? 0 : reassigned;
}

/**
 * Transfers the items that a person owns by grants to the successor, and ends their other grants, so that access
 * through them ends with the next request. Returns the number of resources that the successor gets, including those in
 * the given workspaces, whose owner they become.
 */
async function transferResources(
  { permissions, index }: Parts,
  { onward }: CallContext,
  { orgId, userId }: { readonly orgId: string; readonly userId: string },
  { userId: toUserId = '' }: OrgMember,
  workspaceIds: readonly string[],
): Promise<number> {
  const { transferred } = await permissions.transferMemberGrants({ orgId, userId, toUserId }, onward);
  const counts =
    workspaceIds.length === 0
      ? {}
      : (await index.countResources({ workspaceIds: [...workspaceIds], readableIds: [] }, onward)).counts;
  const elsewhere = Object.entries(transferred).filter(([workspaceId]) => !workspaceIds.includes(workspaceId));
  return [...Object.values(counts), ...elsewhere.map(([, count]) => count)].reduce((sum, count) => sum + count, 0);
}
