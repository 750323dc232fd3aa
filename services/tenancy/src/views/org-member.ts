import { type OrgMember as OrgMemberMessage, OrgMemberStatus } from '@commonplace/proto/tenancy/v1/org.js';
import { orgRoleName } from '../domain/roles.js';
import type { OrgMember } from '../stores/org-members.js';

/** A place in an Org; `inviteUrl` is for the inviter alone. */
export function toOrgMember(member: OrgMember, now: string, inviteUrl?: string): OrgMemberMessage {
  const { userId, name, email } = member;
  const here = member.status !== 'invited' && userId !== undefined;
  return {
    id: member.id,
    orgId: member.orgId,
    user: here ? { id: userId, name, email, avatarUrl: undefined } : undefined,
    email,
    role: orgRoleName(member.role),
    status: statusOf(member, now),
    invitedBy: member.invitedBy,
    invitedAt: member.invitedAt,
    inviteExpiresAt: member.status === 'invited' ? member.inviteExpiresAt : undefined,
    joinedAt: member.joinedAt,
    lastActiveAt: undefined,
    version: member.version,
    inviteUrl,
  };
}

/** An invitation that nobody took up in time has expired; nothing has to happen for that. */
function statusOf({ status, inviteExpiresAt = '' }: OrgMember, now: string): OrgMemberStatus {
  if (status === 'invited' && inviteExpiresAt <= now) return OrgMemberStatus.EXPIRED;
  return OrgMemberStatus[status.toUpperCase() as keyof typeof OrgMemberStatus];
}
