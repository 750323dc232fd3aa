import { enumValue } from '@commonplace/platform/enums';
import { type OrgMember as OrgMemberMessage, OrgMemberStatus } from '@commonplace/proto/tenancy/v1/org.js';
import { orgRoleName } from '../domain/roles.js';
import type { OrgMember } from '../stores/org-members.js';
import { toPersonOrActor } from './workspace.js';

/** Returns a membership of an Org for the API. `inviteUrl` is for the inviter only. */
export function toOrgMember(member: OrgMember, now: string, inviteUrl?: string): OrgMemberMessage {
  const { userId, name, email } = member;
  // A withdrawn invitation was never accepted, so that it shows no user.
  const here = member.status !== 'invited' && member.joinedAt !== undefined && userId !== undefined;
  return {
    id: member.id,
    orgId: member.orgId,
    user: here ? { id: userId, name, email, avatarUrl: undefined } : undefined,
    // The address of a person invited by id stays hidden until they accept.
    email: here || userId === undefined ? email : undefined,
    role: orgRoleName(member.role),
    status: statusOf(member, now),
    invitedById: member.invitedBy,
    invitedBy: toPersonOrActor(member.inviter, member.invitedBy),
    invitedAt: member.invitedAt,
    inviteExpiresAt: member.status === 'invited' ? member.inviteExpiresAt : undefined,
    joinedAt: member.joinedAt,
    lastActiveAt: undefined,
    version: member.version,
    inviteUrl,
  };
}

/** Returns the status. An invitation expires by time alone, without a write. */
function statusOf({ status, inviteExpiresAt = '' }: OrgMember, now: string): OrgMemberStatus {
  if (status === 'invited' && inviteExpiresAt <= now) return OrgMemberStatus.EXPIRED;
  return enumValue(OrgMemberStatus, status);
}
