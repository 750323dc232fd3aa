import type { UnitOfWork } from '@commonplace/kit/store';
import type { Parts } from '../parts.js';
import type { ApprovalRecord } from '../stores/approvals.js';
import { hasEnded, type RunRecord, type StepRecord } from '../stores/runs.js';
import { decisionEvent } from './events.js';
import { logEvents } from './log.js';
import type { Outcome } from './outcome.js';

type WriteParts = Pick<Parts, 'approvals' | 'runs' | 'sessions' | 'runEvents' | 'settings'>;

/** The fields of an ended approval. */
export const ENDED = { rank: 1, dueAt: undefined } as const;

/** The additional changes of the run by a decision. */
export type RunChange = Pick<Partial<RunRecord>, 'remembered' | 'reservedApprovalIds'>;

/**
 * Ends a pending approval, by a decision or by expiry, in a unit of work. It updates the run, which becomes due once
 * all approvals of its turn are decided. Returns the ended approval.
 */
export async function settleApproval(
  parts: WriteParts,
  work: UnitOfWork,
  before: ApprovalRecord,
  after: ApprovalRecord,
  changeRun: (run: RunRecord) => RunChange = () => ({}),
): Promise<ApprovalRecord> {
  const run = await work.get(parts.runs, before.runId);
  const settled = { ...after, ...ENDED };
  work.publish(decisionEvent(settled, run));
  if (run !== undefined && !hasEnded(run)) await noteInRun(parts, work, run, before.id, changeRun(run));
  return settled;
}

async function noteInRun(
  parts: WriteParts,
  work: UnitOfWork,
  run: RunRecord,
  approvalId: string,
  change: RunChange,
): Promise<void> {
  const pendingApprovalIds = (run.pendingApprovalIds ?? []).filter((id) => id !== approvalId);
  const eventCount = logEvents(parts, work, run, [{ type: 'approval.decided', data: { approvalId } }]);
  const goesOn = run.status === 'awaiting_approval' && pendingApprovalIds.length === 0;
  const dueAt = goesOn ? new Date().toISOString() : run.dueAt;
  work.replace(parts.runs, run, { ...run, ...change, pendingApprovalIds, eventCount, dueAt });
  if (goesOn) await tellSession(parts, work, run, false);
}

/**
 * Ends an approval that is no longer valid, because its tool or the policy has changed; `by` is the id of the one that
 * asks anew. Does nothing if it is gone.
 */
export async function supersede(
  { approvals }: Pick<Parts, 'approvals'>,
  work: UnitOfWork,
  { id }: Pick<ApprovalRecord, 'id'>,
  run: Pick<RunRecord, 'chain'>,
  by?: string,
): Promise<void> {
  const before = await work.get(approvals, id);
  if (before === undefined) return;
  const ended: ApprovalRecord = { ...before, ...ENDED, status: 'superseded', supersededBy: by };
  work.replace(approvals, before, ended);
  work.publish(decisionEvent(ended, run));
}

/** Records in the session of a run whether its reply waits for approvals. */
export async function tellSession(
  { sessions }: Pick<Parts, 'sessions'>,
  work: UnitOfWork,
  { sessionId }: Pick<RunRecord, 'sessionId'>,
  awaitsApproval: boolean,
): Promise<void> {
  const session = sessionId === undefined ? undefined : await work.get(sessions, sessionId);
  if (session !== undefined) work.replace(sessions, session, { ...session, awaitsApproval });
}

/** Cancels the pending approvals of an ending run, and closes its steps without results. */
export async function closeOpen(
  { approvals, steps }: Pick<Parts, 'approvals' | 'steps'>,
  work: UnitOfWork,
  run: Pick<RunRecord, 'id' | 'pendingApprovalIds' | 'chain'>,
  ending: Pick<Outcome, 'status' | 'error'>,
): Promise<void> {
  const { id, pendingApprovalIds = [] } = run;
  for (const approvalId of pendingApprovalIds) {
    const approval = await work.get(approvals, approvalId);
    if (approval?.status !== 'pending') continue;
    const canceled: ApprovalRecord = { ...approval, ...ENDED, status: 'canceled', reason: 'run_ended' };
    work.replace(approvals, approval, canceled);
    work.publish(decisionEvent(canceled, run));
  }
  const open = await steps.find({ where: { runId: id }, sort: ['seq'], limit: 1_000 });
  for (const { id: stepId } of open.filter(isOpen)) {
    const step = await work.get(steps, stepId);
    if (step !== undefined && isOpen(step)) work.replace(steps, step, { ...step, ...closed(step, ending) });
  }
}

function isOpen({ status }: StepRecord): boolean {
  return status === 'planned' || status === 'running';
}

/**
 * Returns how a step ends that has no result when its run ends. A call of the model fails with the run; a call of a
 * tool that has left and is not known to have failed may have taken effect.
 */
function closed(
  { type, status, effect }: StepRecord,
  { status: ending, error }: Pick<Outcome, 'status' | 'error'>,
): Pick<StepRecord, 'status' | 'error'> {
  if (type === 'message' && ending === 'failed') return { status: 'failed', error };
  const mayHaveHappened = type === 'tool_call' && status === 'running' && effect !== 'none';
  return { status: mayHaveHappened ? 'unknown' : 'canceled', error: undefined };
}
