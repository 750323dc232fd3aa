import type { CallContext } from '@commonplace/kit/rpc';
import type { GivenDecision } from '../approvals/decision.js';
import { approvalKey, attributionOf } from '../credits/attribution.js';
import { ApprovalNotPending } from '../errors.js';
import type { Parts } from '../parts.js';
import type { ApprovalRecord } from '../stores/approvals.js';
import { hasEnded, type RunRecord } from '../stores/runs.js';
import { ENDED, type RunChange, settleApproval } from './approval-writes.js';

/**
 * Writes a person's decision in the unit of work of a call. Of concurrent decisions the first one wins. An approval
 * reserves the credits for the run's next step; if they are not available, the approval stays pending.
 */
export async function decideApproval(
  parts: Parts,
  approval: ApprovalRecord,
  decision: GivenDecision,
  { work, actor, caller }: CallContext,
): Promise<ApprovalRecord> {
  const run = await work.get(parts.runs, approval.runId);
  if (run === undefined || hasEnded(run) || run.status === 'canceling') {
    throw ApprovalNotPending({ status: 'canceled' });
  }
  const isReserved = decision.approves && (await reserveNextStep(parts, run, approval.id));
  const { approves, comment, editedInput, answer, remembers } = decision;
  const decided: ApprovalRecord = {
    ...approval,
    ...ENDED,
    ...{ status: approves ? 'approved' : 'denied', decidedBy: actor, deciderId: caller.userId },
    ...{ decidedAt: new Date().toISOString(), comment, editedInput, answer },
  };
  const changeRun = ({ remembered = [], reservedApprovalIds = [] }: RunRecord): RunChange => ({
    ...(remembers && { remembered: [...remembered, toolOf(approval)] }),
    ...(isReserved && { reservedApprovalIds: [...reservedApprovalIds, approval.id] }),
  });
  return work.replace(parts.approvals, approval, await settleApproval(parts, work, approval, decided, changeRun));
}

const toolOf = ({ toolName, serverId, toolHash }: ApprovalRecord) => ({ name: toolName, serverId, toolHash });

/** Reserves the estimate of the last call of the model. Returns whether there was anything to reserve. */
async function reserveNextStep({ steps, ledger }: Parts, run: RunRecord, approvalId: string): Promise<boolean> {
  const where = { runId: run.id, type: 'message' } as const;
  const [last] = await steps.find({ where, sort: ['-seq'], limit: 1 });
  const micros = last?.reservedMicros ?? 0;
  if (micros === 0) return false;
  await ledger.reserve(approvalKey(run, approvalId), attributionOf(run), micros, { max: run.maxMicros });
  return true;
}
