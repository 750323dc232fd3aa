import { NotFound } from '@commonplace/kit/errors';
import { type Handlers, requireVersion } from '@commonplace/kit/rpc';
import { replaceChanged } from '@commonplace/kit/store';
import type { WorkspaceService } from '@commonplace/proto/tenancy/v1/workspace_service.js';
import { addAvatars } from '../acts/asked-of-identity.js';
import { changedNow } from '../acts/changed-now.js';
import { revokeWorkspaceOffers } from '../acts/invitations.js';
import { requireOtherWorkspaceOwner } from '../acts/owners.js';
import { addMember } from '../acts/workspace-invites.js';
import { listMembers } from '../acts/workspace-member-lists.js';
import { workspaceRoleOf } from '../domain/roles.js';
import { publishWorkspaceMember } from '../events.js';
import type { Parts } from '../parts.js';
import {
  requireActiveWorkspace,
  requireOwnerForOwner,
  requireWorkspaceGrant,
  requireWorkspaceRole,
} from '../policy.js';
import type { WorkspaceMember } from '../stores/workspace-members.js';
import { toWorkspaceMember } from '../wire/workspace-member.js';

type WorkspaceMemberMethods = Pick<
  Handlers<WorkspaceService>,
  'listWorkspaceMembers' | 'addWorkspaceMember' | 'updateWorkspaceMember' | 'removeWorkspaceMember'
>;

export function createWorkspaceMemberHandlers(parts: Parts): WorkspaceMemberMethods {
  const { policy } = parts;
  const { records } = parts.workspaceMembers;

  /** Returns a membership of the given workspace. Throws NotFound if it is missing or the Org suspends the person. */
  async function find(workspaceId: string, memberId: string): Promise<WorkspaceMember> {
    const member = await records.get(memberId);
    if (member === undefined || member.workspaceId !== workspaceId || member.status === 'suspended') throw NotFound();
    return member;
  }

  return {
    async listWorkspaceMembers(request, context) {
      const access = await policy.seeWorkspace(request.workspaceId, context.caller);
      requireWorkspaceRole(access, 'viewer');
      const list = await listMembers(parts, access.workspace, request);
      await addAvatars(
        parts,
        list.items.map(({ principal }) => principal),
        context,
      );
      return list;
    },

    async addWorkspaceMember(request, context) {
      const access = await policy.seeWorkspace(request.workspaceId, context.caller);
      const { member, url, sentAgain } = await addMember(parts, context, access, request);
      if (sentAgain) context.reply.status = 200;
      return toWorkspaceMember(member, url);
    },

    async updateWorkspaceMember(request, context) {
      const access = await policy.seeWorkspace(request.workspaceId, context.caller);
      const member = await find(request.workspaceId, request.memberId);
      requireWorkspaceRole(access, 'admin');
      const own = access.role ?? 'guest';
      const role = workspaceRoleOf(request.role) ?? member.role;
      requireOwnerForOwner(own, member.role);
      requireWorkspaceGrant(own, role);
      requireVersion(context, member.version, { ...member, createdBy: member.adder });
      requireActiveWorkspace(access.workspace);
      if (role !== 'owner') await requireOtherWorkspaceOwner(parts, context, member);
      const after = { ...member, role, ...changedNow(parts, context) };
      const changed = replaceChanged(context.work, records, member, after);
      if (changed !== member) publishWorkspaceMember(context, 'updated', changed);
      const shown = toWorkspaceMember(changed);
      await addAvatars(parts, [shown.principal], context);
      return shown;
    },

    async removeWorkspaceMember({ workspaceId, memberId, keepGrants }, context) {
      const access = await policy.seeWorkspace(workspaceId, context.caller);
      const member = await find(workspaceId, memberId);
      if (member.id !== access.place?.id) {
        requireWorkspaceRole(access, 'admin');
        requireOwnerForOwner(access.role ?? 'guest', member.role);
      }
      requireVersion(context, member.version, { ...member, createdBy: member.adder });
      requireActiveWorkspace(access.workspace);
      await requireOtherWorkspaceOwner(parts, context, member);
      await revokeWorkspaceOffers(parts, context, member.id);
      context.work.remove(records, member);
      publishWorkspaceMember(context, 'removed', member, keepGrants);
      // Grants are removed together with the membership, so that access through them ends with the next request as
      // well.
      const { userId = '' } = member;
      if (!keepGrants && userId !== '') {
        await parts.permissions.removeMemberGrants({ workspaceId, userId }, context.onward);
      }
      return { id: memberId, deleted: true };
    },
  };
}
