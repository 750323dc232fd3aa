import { NotFound } from '@commonplace/kit/errors';
import { homeOf } from '@commonplace/kit/id';
import type { Handlers } from '@commonplace/kit/rpc';
import type {
  DirectoryService,
  SharingTerms,
  WorkspaceSummary,
} from '@commonplace/proto/tenancy/v1/directory_service.js';
import { WorkspaceState } from '@commonplace/proto/tenancy/v1/workspace.js';
import { type Acceptance, createAcceptance } from '../acts/accept.js';
import { createPersonalWorkspace } from '../acts/personal.js';
import { groupsOf, orgsOf, type SeenWorkspace, workspacesOf } from '../acts/seen.js';
import { listMembers } from '../acts/workspace-member-lists.js';
import { fullOrgSettings } from '../domain/org-settings.js';
import { orgRoleName, type WorkspaceRole, workspaceRoleName } from '../domain/roles.js';
import { fullWorkspaceSettings } from '../domain/workspace-settings.js';
import { publishWorkspace } from '../events.js';
import type { Parts } from '../parts.js';
import type { OrgAccess } from '../policy.js';
import type { Group } from '../stores/groups.js';
import type { Invitation } from '../stores/invitations.js';
import type { Org } from '../stores/orgs.js';
import type { Workspace } from '../stores/workspaces.js';
import { approvalMinimumName } from '../wire/org.js';

export function createDirectoryHandlers(parts: Parts): Handlers<DirectoryService> {
  const { orgs, workspaces, invitations } = parts;
  return {
    async getMemberships({ userId }) {
      const orgAccess = (await orgsOf(parts, userId)).filter(({ org }) => org.status === 'active');
      const reached = new Set<string | undefined>([undefined, ...orgAccess.map(({ org }) => org.id)]);
      const [joined, groups] = await Promise.all([
        workspacesOf(parts, userId, orgAccess, (orgId) => reached.has(orgId)),
        groupsOf(parts, userId, orgAccess),
      ]);
      return {
        userId,
        orgs: orgAccess.map(toOrgMembership),
        workspaces: joined.map(toWorkspaceMembership),
        groups: groups.map(toGroupMembership),
      };
    },

    async lookUpWorkspace({ workspaceId }) {
      const workspace = await workspaces.records.get(workspaceId);
      if (workspace === undefined) throw NotFound();
      return toSummary(workspace);
    },

    async getSharingTerms({ workspaceId }) {
      const workspace = await workspaces.records.get(workspaceId);
      if (workspace === undefined) throw NotFound();
      const org = workspace.orgId === undefined ? undefined : await orgs.records.get(workspace.orgId);
      if (workspace.orgId !== undefined && org?.status !== 'active') throw NotFound();
      return toSharingTerms(workspace, org);
    },

    async getUrlAllowlist({ tenant }) {
      const org = await orgs.records.get(tenant);
      return { entries: org === undefined ? [] : [...fullOrgSettings(org.settings).urlAllowlist] };
    },

    async listPeople({ workspaceId, role, page, addedAfter: createdAfter, addedBefore: createdBefore }) {
      const workspace = await workspaces.records.get(workspaceId);
      if (workspace === undefined) throw NotFound();
      return listMembers(parts, workspace, { role, page, q: '', createdAfter, createdBefore });
    },

    async listOrgAdmins({ orgId }) {
      if ((await orgs.records.get(orgId))?.status !== 'active') return { userIds: [] };
      const admins = await parts.orgMembers.admins(orgId);
      return { userIds: admins.flatMap(({ userId }) => userId ?? []) };
    },

    async lookUpGroups({ orgId, groupIds }) {
      const found = await parts.groups.records.getMany(groupIds);
      return { items: found.filter((group) => group.orgId === orgId).map(toGroupMembership) };
    },

    async finishTemplate({ workspaceId, failed }, context) {
      const workspace = await context.work.get(workspaces.records, workspaceId);
      const status = failed ? 'failed' : 'completed';
      const before = workspace?.templateStatus;
      if (workspace !== undefined && before !== undefined && before !== 'completed' && before !== status) {
        const done = { ...workspace, templateStatus: status, updatedAt: parts.now() } as const;
        publishWorkspace(context, 'updated', context.work.replace(workspaces.records, workspace, done), [
          'template_status',
        ]);
      }
      return { found: workspace !== undefined };
    },

    async ensurePersonalWorkspace({ userId, userName, userEmail }, context) {
      const existing = await workspaces.records.get(homeOf(userId));
      if (existing !== undefined) return toSummary(existing);
      const person = { userId, name: userName, email: userEmail ?? '' };
      return toSummary(await createPersonalWorkspace(parts, context, homeOf(userId), person));
    },

    async getInvitation({ token }) {
      const invitation = await invitations.open(token, parts.now());
      if (invitation === undefined) throw NotFound();
      const { id, email, orgId, workspaceId, expiresAt, anyAccount = false } = invitation;
      if (orgId !== undefined && (await orgs.records.get(orgId))?.status !== 'active') throw NotFound();
      return { id, email, orgId, workspaceId, expiresAt, anyAccount };
    },

    async describeInvitation({ token }) {
      const invitation = await invitations.open(token, parts.now());
      if (invitation === undefined) throw NotFound();
      const { orgId, workspaceId, inviterName, message } = invitation;
      const [org, workspace] = await Promise.all([
        orgId === undefined ? undefined : orgs.records.get(orgId),
        workspaceId === undefined ? undefined : workspaces.records.get(workspaceId),
      ]);
      if (orgId !== undefined && org?.status !== 'active') throw NotFound();
      return { orgName: org?.name, workspaceName: workspace?.name, inviterName, message };
    },

    async acceptInvitation({ token, userId, userName, userEmail }, context) {
      const invitation = await invitations.open(token, parts.now());
      const acceptance = createAcceptance(parts, context, { userId, name: userName, email: userEmail });
      if (invitation === undefined) throw NotFound();
      if (!(await acceptance.accept(invitation))) throw await refusalOr404(acceptance, invitation, userId);
      return { orgId: invitation.orgId, workspaceId: invitation.workspaceId };
    },

    async acceptVerifiedAddress({ email, userId, userName }, context) {
      const acceptance = createAcceptance(parts, context, { userId, name: userName, email });
      let accepted = 0;
      const open = await invitations.ofAddress(email, parts.now());
      // Org invitations come first, so that the person joins workspaces as a member and not as a guest.
      for (const invitation of open.sort((a, b) => rank(a) - rank(b))) {
        if (await acceptance.accept(invitation)) accepted++;
      }
      return { accepted };
    },
  };
}

/** Returns the reason why an invitation was not accepted. An invitation for another person by id answers NotFound. */
async function refusalOr404(acceptance: Acceptance, invitation: Invitation, userId: string): Promise<Error> {
  if (invitation.userId !== undefined && invitation.userId !== userId) return NotFound();
  return (await acceptance.refusalOf(invitation)) ?? NotFound();
}

function rank({ workspaceId }: Invitation): number {
  return workspaceId === undefined ? 0 : 1;
}

/** Returns the id of a person's default workspace. The identity service derives the same id. */
function toGroupMembership({ id: groupId, orgId, name }: Group) {
  return { groupId, orgId, name };
}

function toOrgMembership({ org, member }: OrgAccess) {
  const { maxKeyLifetimeDays, allowExternalSharing, agentApprovalMinimum, approvalsByKey } = fullOrgSettings(
    org.settings,
  );
  return {
    ...{ orgId: org.id, name: org.name, role: orgRoleName(member.role), maxKeyLifetimeDays, allowExternalSharing },
    ...{ agentApprovalMinimum: approvalMinimumName(agentApprovalMinimum), approvalsByKey },
  };
}

function toWorkspaceMembership({ workspace, role }: SeenWorkspace) {
  const { editorsCanShare, trashRetentionDays, withholdOnRevoke } = fullWorkspaceSettings(workspace.settings);
  return {
    workspaceId: workspace.id,
    orgId: workspace.orgId ?? '',
    role: workspaceRoleName(role as WorkspaceRole),
    archived: workspace.state === 'archived',
    editorsCanShare,
    trashRetentionDays,
    withholdOnRevoke,
    name: workspace.name,
  };
}

function toSharingTerms({ id, name, state, settings }: Workspace, org: Org | undefined): SharingTerms {
  const { trashRetentionDays, editorsCanShare, allowAccessRequests, allowExternalAccessRequests, locale } =
    fullWorkspaceSettings(settings);
  const ofOrg = org === undefined ? undefined : fullOrgSettings(org.settings);
  return {
    workspaceId: id,
    orgId: org?.id ?? '',
    workspaceName: name,
    orgName: org?.name ?? '',
    archived: state === 'archived',
    trashRetentionDays,
    editorsCanShare,
    allowAccessRequests,
    allowExternalAccessRequests,
    allowExternalSharing: ofOrg?.allowExternalSharing ?? true,
    allowPublicPublishing: ofOrg?.allowPublicPublishing ?? true,
    locale,
  };
}

function toSummary({ id, orgId = '', name, state, settings }: Workspace): WorkspaceSummary {
  return {
    workspaceId: id,
    orgId,
    name,
    state: state === 'active' ? WorkspaceState.ACTIVE : WorkspaceState.ARCHIVED,
    trashRetentionDays: fullWorkspaceSettings(settings).trashRetentionDays,
  };
}
