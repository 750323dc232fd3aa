import type { CallContext, Client } from '@commonplace/kit/rpc';
import { refusalOfWorkspace } from '@commonplace/platform/memberships';
import type { DirectoryService, WorkspaceMembership } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import type { GrantReader } from './grants.js';
import type { AccessSubject, Policy } from './port.js';
import { requireReach } from './requirements.js';

interface AdmissionParts {
  readonly directory: Client<DirectoryService>;
  readonly grants: Pick<GrantReader, 'grantsIn'>;
}

/** Admits callers to workspaces: members, and by `visit` also those who hold a grant. */
export function createAdmission({ directory, grants }: AdmissionParts): Pick<Policy, 'enter' | 'visit'> {
  async function enter(
    workspaceId: string,
    subject: AccessSubject,
    context: CallContext,
    byGrant: boolean,
  ): Promise<WorkspaceMembership> {
    let membership = await admit(workspaceId, subject, byGrant);
    if (membership === undefined) {
      await subject.refresh();
      membership = await admit(workspaceId, subject, byGrant);
    }
    if (membership === undefined) {
      const asking = { caller: subject.caller, onward: context.onward };
      throw await refusalOfWorkspace(directory, workspaceId, subject.person, asking);
    }
    requireReach(subject.caller, { workspaceId, orgId: membership.orgId || null });
    return membership;
  }

  /** Returns the membership by which the known memberships, and grants if these count, let a caller in. */
  async function admit(
    workspaceId: string,
    subject: AccessSubject,
    byGrant: boolean,
  ): Promise<WorkspaceMembership | undefined> {
    const membership = await memberOf(workspaceId, subject);
    if (membership !== undefined || !byGrant || !(await seesByGrants(workspaceId, subject))) return membership;
    return visitor(workspaceId, subject);
  }

  /**
   * Returns whether grants let a caller who is not a member see something in a workspace. With an author, each of the two
   * has to be a member or to hold a grant.
   */
  async function seesByGrants(workspaceId: string, subject: AccessSubject): Promise<boolean> {
    const holdsGrant = async (one: AccessSubject) => (await grants.grantsIn(workspaceId, one)).length > 0;
    const { author } = subject;
    if (author === undefined) return holdsGrant(subject);
    const each = [subject, author].map((one) => one.own.workspaces.has(workspaceId) || holdsGrant(one));
    return (await Promise.all(each)).every(Boolean);
  }

  return {
    enter: (workspaceId, subject, context) => enter(workspaceId, subject, context, false),
    visit: (workspaceId, subject, context) => enter(workspaceId, subject, context, true),
  };
}

/**
 * Returns the caller's membership of a workspace. Refreshes a cached one that says archived, because the workspace
 * may be active again by now.
 */
export async function memberOf(workspaceId: string, subject: AccessSubject): Promise<WorkspaceMembership | undefined> {
  if (subject.person.workspaces.get(workspaceId)?.archived) await subject.refresh();
  return subject.person.workspaces.get(workspaceId);
}

/** Returns a membership without a role, for a caller who sees a node of a workspace that they are not a member of. */
export async function visitor(workspaceId: string, subject: AccessSubject): Promise<WorkspaceMembership> {
  const { orgId, archived, editorsCanShare, trashRetentionDays, workspaceName } = await subject.terms(workspaceId);
  const role = WorkspaceRole.UNSPECIFIED;
  return { workspaceId, orgId, role, archived, editorsCanShare, trashRetentionDays, name: workspaceName };
}
