import { NotFound } from '@commonplace/kit/errors';
import { newId } from '@commonplace/kit/id';
import { type CallContext, type Handlers, requireVersion } from '@commonplace/kit/rpc';
import { replaceChanged } from '@commonplace/kit/store';
import { foldName } from '@commonplace/kit/words';
import type { GroupService } from '@commonplace/proto/tenancy/v1/group_service.js';
import { addAvatars } from '../acts/asked-of-identity.js';
import { isInGroup, listGroupMembers, listGroups } from '../acts/group-lists.js';
import { endPlace, putPlace } from '../acts/group-places.js';
import { maskOf } from '../domain/mask.js';
import { GroupNameTaken } from '../errors.js';
import { publishGroup } from '../events.js';
import type { Parts } from '../parts.js';
import { type OrgAccess, requireOrgRole } from '../policy.js';
import { type Group, groupNameKey } from '../stores/groups.js';
import { toGroup, toGroupMember } from '../wire/group.js';

/** A group that the caller sees, with their access to its Org. */
interface GroupAccess {
  readonly group: Group;
  readonly access: OrgAccess;
}

export function createGroupHandlers(parts: Parts): Handlers<GroupService> {
  const { groups, policy } = parts;

  /** Returns a group to members of its Org, and to guests who are in it. Throws NotFound otherwise. */
  async function see(request: { orgId: string; groupId: string }, { caller }: CallContext): Promise<GroupAccess> {
    const access = await policy.seeOrg(request.orgId, caller);
    const group = await groups.records.get(request.groupId);
    if (group === undefined || group.orgId !== request.orgId) throw NotFound();
    if (access.member.role === 'guest' && !(await isInGroup(parts, group, caller.userId))) throw NotFound();
    return { group, access };
  }

  async function answer(group: Group) {
    return toGroup(group, (await groups.countMembers([group.id])).get(group.id) ?? 0);
  }

  /** Throws `already_exists` if another group of the Org has the name. */
  async function requireFreeName(orgId: string, name: string, own?: Group): Promise<void> {
    const other = await groups.named(orgId, name);
    if (other !== undefined && other.id !== own?.id) throw GroupNameTaken({ name: other.name });
  }

  return {
    async listGroups(request, { caller }) {
      const { member } = await policy.seeOrg(request.orgId, caller);
      return listGroups(parts, request, member);
    },

    async createGroup({ orgId, name, description }, context) {
      const { caller, work, actor } = context;
      requireOrgRole(await policy.seeOrg(orgId, caller), 'admin');
      await requireFreeName(orgId, name);
      await parts.quotas.groups.reserve(work, orgId);
      const now = parts.now();
      const group = work.insert(groups.records, {
        id: newId(),
        tenant: orgId,
        orgId,
        ...named(orgId, name),
        description,
        createdBy: actor,
        createdById: caller.userId,
        createdAt: now,
        updatedBy: actor,
        updatedAt: now,
      });
      publishGroup(context, 'created', group);
      return toGroup(group, 0);
    },

    async getGroup(request, context) {
      return answer((await see(request, context)).group);
    },

    async updateGroup(request, context) {
      const { group, access } = await see(request, context);
      requireOrgRole(access, 'admin');
      requireVersion(context, group.version, group);
      const mask = maskOf(request.updateMask);
      const name = mask.has('name') ? (request.name ?? group.name) : group.name;
      if (name !== group.name) await requireFreeName(group.orgId, name, group);
      const changed = replaceChanged(context.work, groups.records, group, {
        ...group,
        ...named(group.orgId, name),
        description: mask.has('description') ? request.description : group.description,
        updatedBy: context.actor,
        updatedAt: parts.now(),
      });
      if (changed !== group) publishGroup(context, 'updated', changed, mask.fields);
      return answer(changed);
    },

    async deleteGroup(request, context) {
      const { group, access } = await see(request, context);
      requireOrgRole(access, 'admin');
      requireVersion(context, group.version, group);
      // Places in a group that does not exist give nothing, so that all rights end with this commit.
      context.work.remove(groups.records, group);
      publishGroup(context, 'deleted', group);
      return { id: group.id, deleted: true };
    },

    async listGroupMembers(request, context) {
      const { access } = await see(request, context);
      const list = await listGroupMembers(parts, request, access.member);
      await addAvatars(
        parts,
        list.items.map(({ user }) => user),
        context,
      );
      return list;
    },

    async putGroupMember(request, context) {
      const { group, access } = await see(request, context);
      requireOrgRole(access, 'admin');
      const { place, member, isNew } = await putPlace(parts, context, group, request.userId);
      if (!isNew) context.reply.status = 200;
      const shown = toGroupMember(place, member, parts.now());
      await addAvatars(parts, [shown.user], context);
      return shown;
    },

    async removeGroupMember(request, context) {
      const { group, access } = await see(request, context);
      const { userId } = request;
      if (userId !== context.caller.userId) requireOrgRole(access, 'admin');
      const place = await groups.place(group.id, userId);
      if (place === undefined) throw NotFound();
      requireVersion(context, place.version, { updatedBy: place.addedBy, updatedAt: place.addedAt });
      endPlace(parts, context, place);
      return { id: userId, deleted: true };
    },
  };
}

function named(orgId: string, name: string): Pick<Group, 'name' | 'nameFold' | 'nameKey'> {
  return { name, nameFold: foldName(name), nameKey: groupNameKey(orgId, name) };
}
