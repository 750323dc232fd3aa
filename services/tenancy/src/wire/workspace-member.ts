import {
  PrincipalType,
  type WorkspaceMember as WorkspaceMemberMessage,
  WorkspaceMemberSource,
  WorkspaceMemberStatus,
} from '@commonplace/proto/tenancy/v1/workspace.js';
import { type DefaultRole, workspaceRoleName } from '../domain/roles.js';
import type { OrgMember } from '../stores/org-members.js';
import type { WorkspaceMember } from '../stores/workspace-members.js';
import { toPersonOrActor } from './workspace.js';

/** Returns a person's own membership of a workspace. `inviteUrl` is for the inviter only. */
export function toWorkspaceMember(member: WorkspaceMember, inviteUrl?: string): WorkspaceMemberMessage {
  const invited = member.status === 'invited';
  return {
    id: member.id,
    workspaceId: member.workspaceId,
    principal: {
      type: PrincipalType.USER,
      id: invited ? undefined : member.userId,
      name: invited ? undefined : member.name,
      email: member.hidesEmail ? undefined : member.email,
      avatarUrl: undefined,
    },
    role: workspaceRoleName(member.role),
    status: invited ? WorkspaceMemberStatus.INVITED : WorkspaceMemberStatus.ACTIVE,
    source: WorkspaceMemberSource.DIRECT,
    addedById: member.addedBy,
    addedBy: toPersonOrActor(member.adder, member.addedBy),
    addedAt: member.addedAt,
    version: member.version,
    inviteUrl,
  };
}

/**
 * Returns an Org member who is in the workspace by its `default_role`. There is no record, and so no id or version.
 */
export function toDefaultMember(member: OrgMember, workspaceId: string, role: DefaultRole): WorkspaceMemberMessage {
  const { userId, name, email } = member;
  return {
    id: undefined,
    workspaceId,
    principal: { type: PrincipalType.USER, id: userId, name, email, avatarUrl: undefined },
    role: workspaceRoleName(role),
    status: WorkspaceMemberStatus.ACTIVE,
    source: WorkspaceMemberSource.ORG_DEFAULT,
    addedById: undefined,
    addedBy: undefined,
    addedAt: member.joinedAt,
    version: 0,
    inviteUrl: undefined,
  };
}
