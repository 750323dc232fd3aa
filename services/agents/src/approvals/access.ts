import { type Caller, credentialOutOfScope, reachesTenant, reachesWorkspace } from '@commonplace/kit/auth';
import { InsufficientRole, NotFound } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import type { Where } from '@commonplace/kit/store';
import { isWorkspaceRoleAtLeast, type PersonMemberships } from '@commonplace/platform/memberships';
import type { Approval } from '@commonplace/proto/agents/v1/approval.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { AgentsCannotApprove, ApprovalNeedsPerson } from '../errors.js';
import type { Parts } from '../parts.js';
import { belongsTo } from '../policy.js';
import { readableAmong } from '../readable.js';
import type { ApprovalRecord } from '../stores/approvals.js';
import { approvalMessage, withheldApproval } from '../wire/approvals.js';
import { ApproverLookup, isReader } from './approvers.js';

type AccessParts = Pick<Parts, 'approvals' | 'memberships' | 'directory' | 'auth' | 'index' | 'systemCall'>;

/** Reads approvals on behalf of one caller. */
export class ApprovalAccess {
  private readonly lookup: ApproverLookup;

  constructor(
    private readonly parts: AccessParts,
    private readonly context: CallContext,
  ) {
    this.lookup = new ApproverLookup(parts, () => parts.systemCall());
  }

  /**
   * Returns an approval. The caller must have started the run, or be allowed to decide now or when it was requested, or
   * have decided it. Throws `NotFound` otherwise, and the error for a credential that does not reach it.
   */
  async see(id: string): Promise<ApprovalRecord> {
    const { caller, work } = this.context;
    const approval = await work.get(this.parts.approvals, id);
    const person = await this.person(approval);
    if (approval === undefined || !belongsTo(person, approval)) throw NotFound();
    if (!(await this.concerns(approval))) throw NotFound();
    if (!reaches(caller, approval)) throw credentialOutOfScope(caller, approval.orgId || null);
    return approval;
  }

  /** Returns an approval that concerns the caller; undefined otherwise. */
  async find(id: string): Promise<ApprovalRecord | undefined> {
    const approval = await this.parts.approvals.get(id);
    if (approval === undefined || !belongsTo(await this.person(approval), approval)) return undefined;
    return reaches(this.context.caller, approval) && (await this.concerns(approval)) ? approval : undefined;
  }

  private async concerns(approval: ApprovalRecord): Promise<boolean> {
    const { userId } = this.context.caller;
    const { runUserId, deciderId, approverIds } = approval;
    return [runUserId, deciderId, ...approverIds].includes(userId) || (await this.isApprover(approval));
  }

  /** Returns approvals as the caller sees them now, without the calls about resources that they cannot read. */
  async present(approvals: readonly ApprovalRecord[]): Promise<Approval[]> {
    const ids = new Set(approvals.flatMap(resourcesOf));
    const readable = await readableAmong(this.parts, [...ids], this.context);
    return Promise.all(
      approvals.map(async (one) => {
        const isSeen = resourcesOf(one).every((id) => readable.has(id));
        return isSeen ? approvalMessage(one, await this.canDecide(one)) : withheldApproval(one);
      }),
    );
  }

  private async readsAll(approval: ApprovalRecord): Promise<boolean> {
    const ids = resourcesOf(approval);
    const readable = await readableAmong(this.parts, ids, this.context);
    return ids.every((id) => readable.has(id));
  }

  /** Returns whether the caller is one of the people who may decide an approval now. */
  async isApprover(approval: ApprovalRecord): Promise<boolean> {
    const { ids } = await this.lookup.approversOf(approval);
    return ids.includes(this.context.caller.userId);
  }

  /** Returns whether the caller, who can read what the call is about, may decide it now with their credential. */
  private async canDecide(approval: ApprovalRecord): Promise<boolean> {
    if (approval.status !== 'pending' || !(await this.isApprover(approval))) return false;
    return (await this.refusalOf(approval)) === undefined;
  }

  /** Throws unless the caller may decide an approval with their credential. */
  async requireApprover(approval: ApprovalRecord): Promise<void> {
    if (isMachine(this.context)) throw AgentsCannotApprove();
    if (!(await this.isApprover(approval)) || !(await this.readsAll(approval))) throw InsufficientRole();
    const refusal = await this.refusalOf(approval);
    if (refusal !== undefined) throw refusal;
  }

  private async refusalOf({ orgId, risk, kind, runCredentialId }: ApprovalRecord): Promise<Error | undefined> {
    const { caller } = this.context;
    if (isMachine(this.context)) return AgentsCannotApprove();
    const { type, id } = caller.credential;
    if (type === 'session' || type === 'bearer') return undefined;
    const allows = orgId !== '' && (await this.person()).orgs.get(orgId)?.approvalsByKey === true;
    const isModest = risk !== 'high' && kind !== 'question';
    return type === 'api_key' && allows && isModest && id !== runCredentialId ? undefined : ApprovalNeedsPerson();
  }

  /** Returns the filter for the approvals that the caller sees in lists. */
  async visible(): Promise<Where<ApprovalRecord>> {
    const { caller } = this.context;
    const { workspaces, orgs } = await this.person();
    const only = caller.workspaceId === undefined ? caller.credential.workspaceIds : [caller.workspaceId];
    const tenant = caller.tenant?.orgId;
    const administered = [...workspaces.values()].filter(({ role }) =>
      isWorkspaceRoleAtLeast(role, WorkspaceRole.ADMIN),
    );
    return {
      and: [
        {
          or: [
            { runUserId: caller.userId },
            { approverIds: { contains: caller.userId } },
            { deciderId: caller.userId },
            { asksAdmins: true, workspaceId: { in: administered.map(({ workspaceId }) => workspaceId) } },
          ],
        },
        {
          or: [
            { workspaceId: { in: [...workspaces.values()].filter(isReader).map(({ workspaceId }) => workspaceId) } },
            { workspaceId: { exists: false }, orgId: { in: [...orgs.keys()] } },
          ],
        },
        ...(only === undefined ? [] : [{ workspaceId: { in: [...only] } }]),
        ...(tenant === undefined ? [] : [{ orgId: tenant ?? '' }]),
      ],
    };
  }

  private async person(about?: ApprovalRecord): Promise<PersonMemberships> {
    const { caller, onward } = this.context;
    const known = await this.parts.memberships.of(caller.userId, onward);
    if (about === undefined || belongsTo(known, about)) return known;
    return this.parts.memberships.fresh(caller.userId, onward);
  }
}

/** Returns whether the call is made without a person: by an agent, or by the server on behalf of people. */
function isMachine({ caller, actor }: CallContext): boolean {
  return actor.type === 'agent' || caller.credential.type === 'internal' || caller.credential.type === 'submission';
}

/**
 * Returns the resources that the call of an approval is about. What was deleted by the call is no longer there to be
 * read.
 */
function resourcesOf({ resourceIds, input, serverId, action, status }: ApprovalRecord): readonly string[] {
  if (action === 'delete' && status !== 'pending') return [];
  if (resourceIds !== undefined || serverId !== undefined) return resourceIds ?? [];
  const { resource_id: id } = (input ?? {}) as { readonly resource_id?: unknown };
  return typeof id === 'string' ? [id.toLowerCase()] : [];
}

function reaches(caller: Caller, { orgId, workspaceId }: ApprovalRecord): boolean {
  if (workspaceId !== undefined) return reachesWorkspace(caller, workspaceId, orgId || null);
  return (
    reachesTenant(caller, orgId) && caller.credential.workspaceIds === undefined && caller.workspaceId === undefined
  );
}
