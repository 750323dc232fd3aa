import {
  findPage,
  isWithinTimes,
  pageOfAll,
  parsePageRequest,
  sortsBy,
  timeBetween,
  timesWithin,
  type Where,
} from '@commonplace/kit/store';
import { foldName } from '@commonplace/kit/words';
import type {
  ListGroupMembersRequest,
  ListGroupMembersResponse,
  ListGroupsRequest,
  ListGroupsResponse,
} from '@commonplace/proto/tenancy/v1/group_service.js';
import type { Parts } from '../parts.js';
import type { Group, GroupMember } from '../stores/groups.js';
import type { OrgMember } from '../stores/org-members.js';
import { toGroup, toGroupMember } from '../wire/group.js';

// Ids follow each other in time.
const SORTS = sortsBy<Group>({ name: 'nameFold', created_at: 'id' });

/** Returns a page of an Org's groups, as far as `viewer` may see them. */
export async function listGroups(
  parts: Parts,
  request: ListGroupsRequest,
  viewer: OrgMember,
): Promise<ListGroupsResponse> {
  const { records, countMembers } = parts.groups;
  const sort = SORTS[request.sort] ?? ['nameFold'];
  const ids = await onlyIds(parts, request, viewer);
  const { items, page } =
    ids === undefined
      ? await findPage(records, groupFilter(request), sort, request.page)
      : pageOfAll(parsePageRequest(request.page), await someGroups(parts, request, ids), sort);
  const counts = items.length === 0 ? new Map<string, number>() : await countMembers(items.map(({ id }) => id));
  return { items: items.map((group) => toGroup(group, counts.get(group.id) ?? 0)), page };
}

function groupFilter(request: ListGroupsRequest): Where<Group> {
  const { orgId, q, createdBy } = request;
  return {
    orgId,
    ...(q === '' ? {} : { nameFold: { substring: foldName(q) } }),
    ...(createdBy === undefined ? {} : { createdById: createdBy }),
    ...timesWithin(request),
  };
}

/** Returns the ids of the only groups that a list may contain; undefined if it may contain all of the Org. */
async function onlyIds(
  parts: Parts,
  { orgId, userId }: ListGroupsRequest,
  viewer: OrgMember,
): Promise<string[] | undefined> {
  if (viewer.role !== 'guest') return userId === undefined ? undefined : groupIdsOf(parts, orgId, userId);
  // Guests do not see which groups other people are in.
  return userId === undefined || userId === viewer.userId ? groupIdsOf(parts, orgId, viewer.userId ?? '') : [];
}

/**
 * Returns the groups among `ids` that match the filters of a list. A person is in few groups, so all of them are read.
 */
async function someGroups({ groups }: Parts, request: ListGroupsRequest, ids: readonly string[]): Promise<Group[]> {
  const { orgId, q, createdBy } = request;
  const found = await groups.records.getMany(ids);
  return found.filter(
    (group) =>
      group.orgId === orgId &&
      group.nameFold.includes(foldName(q)) &&
      (createdBy === undefined || group.createdById === createdBy) &&
      isWithinTimes(group, request),
  );
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
  { groupId, q, createdAfter, createdBefore, page: request }: ListGroupMembersRequest,
  viewer: OrgMember,
): Promise<ListGroupMembersResponse> {
  const addedAt = timeBetween(createdAfter, createdBefore);
  const where: Where<GroupMember> = {
    groupId,
    ...(addedAt && { addedAt }),
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
