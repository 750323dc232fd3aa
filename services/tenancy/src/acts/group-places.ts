import { newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import { type Publishing, publishGroupMember } from '../events.js';
import type { Parts } from '../parts.js';
import type { Group, GroupMember } from '../stores/groups.js';
import { type OrgMember, personKeyOf } from '../stores/org-members.js';
import { noSuchPerson } from './people.js';

/** A person's place in a group, and whether this call has created it. */
interface PutPlace {
  readonly place: GroupMember;
  readonly member: OrgMember;
  readonly isNew: boolean;
}

/**
 * Adds a person to a group. Throws NotFound for a person who is not an active member of the Org, and `limit_reached`.
 * The commit fails if the group or the membership of the Org ends at the same time.
 */
export async function putPlace(parts: Parts, context: CallContext, group: Group, userId: string): Promise<PutPlace> {
  const { groups, orgMembers, quotas } = parts;
  const { work } = context;
  const [member, existing] = await Promise.all([
    orgMembers.ofPerson(group.orgId, userId),
    groups.place(group.id, userId),
  ]);
  if (member?.status !== 'active') throw noSuchPerson();
  if (existing?.orgMemberId === member.id) return { place: existing, member, isNew: false };
  work.expect(groups.records, group);
  work.expect(orgMembers.records, member);
  const fields = placeIn(group, userId, member, context, parts.now());
  // What is left of an earlier membership of the Org is taken over by the new one.
  const place =
    existing === undefined
      ? work.insert(groups.members, fields)
      : work.replace(groups.members, existing, { ...fields, id: existing.id });
  if (existing === undefined) {
    await quotas.groupMembers.reserve(work, group.id);
    await quotas.groupsOfPerson.reserve(work, personKeyOf(group.orgId, userId));
  }
  publishGroupMember(context, 'added', place);
  return { place, member, isNew: true };
}

function placeIn(
  { id: groupId, orgId, tenant }: Group,
  userId: string,
  member: OrgMember,
  { actor }: CallContext,
  now: string,
): Omit<GroupMember, 'version'> {
  return {
    id: newId(),
    tenant,
    orgId,
    groupId,
    userId,
    orgMemberId: member.id,
    personKey: personKeyOf(groupId, userId),
    search: member.search,
    addedBy: actor,
    addedAt: now,
  };
}

/** Ends the places of a person in all groups of an Org. */
export async function leaveGroups(parts: Parts, context: Publishing, orgId: string, userId: string): Promise<void> {
  for (const place of await parts.groups.placesIn(orgId, userId)) endPlace(parts, context, place);
}

/** Ends a person's place in a group. */
export function endPlace({ groups }: Parts, context: Publishing, place: GroupMember): void {
  context.work.remove(groups.members, place);
  publishGroupMember(context, 'removed', place);
}
