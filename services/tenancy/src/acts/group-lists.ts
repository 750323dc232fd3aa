import { findPage, type Sort, timesWithin, type Where } from '@commonplace/kit/store';
import type {
  ListGroupMembersRequest,
  ListGroupMembersResponse,
  ListGroupsRequest,
  ListGroupsResponse,
} from '@commonplace/proto/tenancy/v1/group_service.js';
import { foldName } from '../domain/text.js';
import type { Parts } from '../parts.js';
import type { Group, GroupMember } from '../stores/groups.js';
import type { OrgMember } from '../stores/org-members.js';
import { toGroup, toGroupMember } from '../wire/group.js';

const SORTS: Readonly<Record<string, Sort<Group>>> = {
  name: ['nameFold'],
  '-name': ['-nameFold'],
  created_at: ['createdAt'],
  '-created_at': ['-createdAt'],
  updated_at: ['updatedAt'],
  '-updated_at': ['-updatedAt'],
};

/** Returns a page of an Org's groups, as far as `viewer` may see them. */
export async function listGroups(
  parts: Parts,
  request: ListGroupsRequest,
  viewer: OrgMember,
): Promise<ListGroupsResponse> {
  const { records, countMembers } = parts.groups;
  const where = await groupFilter(parts, request, viewer);
  const { items, page } = await findPage(records, where, SORTS[request.sort] ?? ['nameFold'], request.page);
  const counts = items.length === 0 ? new Map<string, number>() : await countMembers(items.map(({ id }) => id));
  return { items: items.map((group) => toGroup(group, counts.get(group.id) ?? 0)), page };
}

async function groupFilter(parts: Parts, request: ListGroupsRequest, viewer: OrgMember): Promise<Where<Group>> {
  const { orgId, q, userId, createdBy } = request;
  const ids: Where<Group>[] = [];
  if (userId !== undefined) ids.push({ id: { in: await groupIdsOf(parts, orgId, userId) } });
  // Guests do not see other people's places.
  if (viewer.role === 'guest') ids.push({ id: { in: await groupIdsOf(parts, orgId, viewer.userId ?? '') } });
  if (viewer.role === 'guest' && userId !== undefined && userId !== viewer.userId) ids.push({ id: { in: [] } });
  return {
    orgId,
    ...(q === '' ? {} : { nameFold: { substring: foldName(q) } }),
    ...(createdBy === undefined ? {} : { createdById: createdBy }),
    ...timesWithin(request),
    ...(ids.length === 0 ? {} : { and: ids }),
  };
}

/** Returns the ids of the groups that a person is in now. */
async function groupIdsOf({ groups, orgMembers }: Parts, orgId: string, userId: string): Promise<string[]> {
  const [places, member] = await Promise.all([groups.placesIn(orgId, userId), orgMembers.ofPerson(orgId, userId)]);
  return places.filter(({ orgMemberId }) => orgMemberId === member?.id).map(({ groupId }) => groupId);
}

/** Returns whether a person is in a group. */
export async function isInGroup(parts: Parts, { id, orgId }: Group, userId: string): Promise<boolean> {
  return (await groupIdsOf(parts, orgId, userId)).includes(id);
}

/** Returns a page of a group's members in the order in which they were added, as far as `viewer` may see them. */
export async function listGroupMembers(
  parts: Parts,
  { groupId, q, page: request }: ListGroupMembersRequest,
  viewer: OrgMember,
): Promise<ListGroupMembersResponse> {
  const where: Where<GroupMember> = {
    groupId,
    ...(q === '' ? {} : { search: { substring: foldName(q) } }),
    ...(viewer.role === 'guest' ? { userId: { in: await seenByGuest(parts, viewer) } } : {}),
  };
  const { items, page } = await findPage(parts.groups.members, where, [], request);
  const members = await parts.orgMembers.records.getMany(items.map(({ orgMemberId }) => orgMemberId));
  const byId = new Map(members.map((member) => [member.id, member]));
  const shown = items.flatMap((place) => {
    const member = byId.get(place.orgMemberId);
    return member === undefined ? [] : [toGroupMember(place, member, parts.now())];
  });
  return { items: shown, page };
}

/** Returns the people whom a guest sees in an Org: themselves and the administrators. */
async function seenByGuest({ orgMembers }: Parts, { orgId, userId = '' }: OrgMember): Promise<string[]> {
  const admins = await orgMembers.admins(orgId);
  return [userId, ...admins.flatMap((admin) => admin.userId ?? [])];
}
