import { type CallContext, type Handlers, requireVersion } from '@commonplace/kit/rpc';
import { findPage, type Sort, sortsBy, timeBetween, type Where } from '@commonplace/kit/store';
import { enumName } from '@commonplace/platform/enums';
import { type Approval, ApprovalStatus } from '@commonplace/proto/agents/v1/approval.js';
import type { ApprovalService, ListApprovalsRequest } from '@commonplace/proto/agents/v1/approval_service.js';
import { ApprovalAccess } from '../approvals/access.js';
import { readDecision } from '../approvals/decision.js';
import { requireSeenInput } from '../approvals/edited-input.js';
import { approvalKey } from '../credits/attribution.js';
import { ApprovalNotPending } from '../errors.js';
import type { Parts } from '../parts.js';
import { readWorkspace } from '../policy.js';
import { decideApproval } from '../runs/approval-decision.js';
import type { ApprovalRecord } from '../stores/approvals.js';
import { approvalMessage } from '../wire/approvals.js';

export function createApprovalHandlers(parts: Parts): Handlers<ApprovalService> {
  return {
    async listApprovals(request, context) {
      if (request.workspaceId !== undefined) await readWorkspace(parts, request.workspaceId, context);
      const access = new ApprovalAccess(parts, context);
      const where: Where<ApprovalRecord> = { ...(await access.visible()), ...filterOf(request) };
      const { items, page } = await findPage(
        parts.approvals,
        where,
        SORTS[request.sort] ?? PENDING_FIRST,
        request.page,
      );
      return { items: await access.present(items), page };
    },

    async getApproval({ approvalId }, context) {
      const access = new ApprovalAccess(parts, context);
      const [message] = await access.present([await access.see(approvalId)]);
      return message as Approval;
    },

    async decideApproval(request, context) {
      const access = new ApprovalAccess(parts, context);
      // Refreshes the memberships, so that a person who has just left cannot decide.
      await parts.memberships.fresh(context.caller.userId, context.onward);
      const approval = await access.see(request.approvalId);
      await access.requireApprover(approval);
      const { decidedBy, decidedAt, requestedAt } = approval;
      requireVersion(context, approval.version, { updatedBy: decidedBy, updatedAt: decidedAt ?? requestedAt });
      const isOver = approval.status === 'pending' && Date.parse(approval.expiresAt) <= Date.now();
      if (approval.status !== 'pending' || isOver) {
        await releaseOutrun(parts, approval, context);
        throw ApprovalNotPending({ status: isOver ? 'expired' : approval.status });
      }
      const decision = await readDecision(parts.schemas, request, approval);
      if (decision.editedInput !== undefined) await requireSeenInput(parts, approval, decision.editedInput, context);
      const decided = await decideApproval(parts, approval, decision, context);
      return approvalMessage(decided, false);
    },
  };
}

/**
 * Releases the credits that a call has reserved before it lost a race against another decision. What an approval has
 * reserved that was given is kept for its run.
 */
async function releaseOutrun(
  { runs, ledger }: Pick<Parts, 'runs' | 'ledger'>,
  { id, runId, status }: ApprovalRecord,
  { work }: CallContext,
): Promise<void> {
  const run = status === 'approved' || status === 'pending' ? undefined : await work.get(runs, runId);
  if (run !== undefined) await ledger.release(approvalKey(run, id)).catch(() => {});
}

const PENDING_FIRST: Sort<ApprovalRecord> = ['rank', '-requestedAt'];

const SORTS = sortsBy<ApprovalRecord>({ requested_at: 'requestedAt' });

function filterOf(request: ListApprovalsRequest): Where<ApprovalRecord> {
  const { status, agentId, runId, workspaceId, createdBy, createdAfter, createdBefore } = request;
  const requestedAt = timeBetween(createdAfter, createdBefore);
  return {
    ...(status !== ApprovalStatus.UNSPECIFIED && { status: enumName(status, 'APPROVAL_STATUS') }),
    ...(agentId !== undefined && { agentId }),
    ...(runId !== undefined && { runId }),
    ...(workspaceId !== undefined && { workspaceId }),
    ...(createdBy !== undefined && { runUserId: createdBy }),
    ...(requestedAt !== undefined && { requestedAt }),
  };
}
