import { actorMessage } from '@commonplace/platform/actors';
import type {
  GroupMember as GroupMemberMessage,
  Group as GroupMessage,
} from '@commonplace/proto/tenancy/v1/group_service.js';
import type { Group, GroupMember } from '../stores/groups.js';
import type { OrgMember } from '../stores/org-members.js';
import { toOrgMember } from './org-member.js';

export function toGroup(group: Group, memberCount: number): GroupMessage {
  return {
    id: group.id,
    orgId: group.orgId,
    name: group.name,
    description: group.description,
    memberCount,
    createdBy: actorMessage(group.createdBy),
    createdAt: group.createdAt,
    updatedAt: group.updatedAt,
    version: group.version,
  };
}

/** Returns a person's place in a group for the API, with what the Org shows of the person. */
export function toGroupMember(place: GroupMember, member: OrgMember, now: string): GroupMemberMessage {
  const { user, role, status } = toOrgMember(member, now);
  return {
    id: place.userId,
    groupId: place.groupId,
    user,
    role,
    status,
    addedBy: actorMessage(place.addedBy),
    addedAt: place.addedAt,
    version: place.version,
  };
}
