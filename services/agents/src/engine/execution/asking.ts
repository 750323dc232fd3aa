import { newId } from '@commonplace/kit/id';
import { ApproverLookup } from '../../approvals/approvers.js';
import { kindOf, termsOf } from '../../approvals/policy.js';
import { hashJson } from '../../domain/hash-json.js';
import type { Preview, Risk, ToolPlan } from '../../domain/tool-plan.js';
import { supersede } from '../../runs/approval-writes.js';
import { decisionEvent, requestEvent } from '../../runs/events.js';
import { deletionOf, type NewRunEvent } from '../../runs/log.js';
import type { ApprovalKind, ApprovalRecord } from '../../stores/approvals.js';
import type { RunRecord, StepRecord } from '../../stores/runs.js';
import type { Tool, ToolQuestion } from '../tools/tool.js';
import type { Admission } from './gate.js';
import type { RunScope } from './scope.js';

/** A call that needs a person's decision. */
interface AskedCall {
  readonly tool: Tool;
  readonly plan: ToolPlan;
  readonly step: StepRecord;
  readonly admission: Admission;
  /** A question of the tool, if the approval answers one. */
  readonly question?: ToolQuestion | undefined;
  /** Whether the call may have taken effect before, so that the approval is about repeating it. */
  readonly isRetry?: boolean;
  /** An earlier approval that is no longer valid. */
  readonly supersedes?: ApprovalRecord | undefined;
}

/** Maximum age of a run in milliseconds, including its waiting time. */
const MAX_AGE_MS = 45 * 24 * 3600 * 1000;
/** Maximum characters of a preview. */
const MAX_PREVIEW = 32_000;

/** Returns the time at which a run ends at the latest, even if it is waiting, in epoch milliseconds. */
export const latestEndOf = ({ createdAt }: Pick<RunRecord, 'createdAt'>): number => Date.parse(createdAt) + MAX_AGE_MS;

/**
 * Opens an approval for a call, in one unit of work with its step, the event of the run and the notification of the
 * approvers. If there are no approvers, the approval expires at once.
 */
export async function openApproval(scope: RunScope, asked: AskedCall): Promise<void> {
  const { parts, log, job } = scope;
  const { step, plan, supersedes, isRetry = false } = asked;
  const approval = await approvalOf(scope, asked);
  const isPending = approval.status === 'pending';
  const { effect, serverId } = plan;
  const status = isRetry ? 'unknown' : 'planned';
  const planned: StepRecord = { ...step, effect, serverId, status, approvalId: approval.id };
  const about = { approvalId: approval.id };
  const events: NewRunEvent[] = [{ type: 'approval.requested', data: about }];
  if (!isPending) events.push({ type: 'approval.decided', data: about });
  await log.save(planned, {
    events,
    change: ({ pendingApprovalIds = [] }) =>
      isPending ? { pendingApprovalIds: [...pendingApprovalIds, approval.id] } : {},
    also: async (work) => {
      work.insert(parts.approvals, approval);
      work.publish(requestEvent(approval, job.record));
      if (!isPending) work.publish(decisionEvent(approval, job.record));
      if (supersedes !== undefined) await supersede(parts, work, supersedes, job.record, approval.id);
    },
  });
  parts.log.info('approval.requested', { approval_id: approval.id, run_id: job.record.id, kind: approval.kind });
}

async function approvalOf({ parts, job }: RunScope, asked: AskedCall): Promise<Omit<ApprovalRecord, 'version'>> {
  const run = job.record;
  const { tool, plan, step, admission, question, isRetry = false } = asked;
  const { policies, policyHash, agent } = admission;
  const terms = termsOf(policies);
  const kind: ApprovalKind = question !== undefined ? 'question' : isRetry ? 'retry' : kindOf(plan);
  const risk: Risk = isRetry && plan.risk === 'low' ? 'medium' : plan.risk;
  const { tenant, orgId, workspaceId, agentId, agentName } = run;
  const about = { tenant, orgId, workspaceId, runUserId: run.userId, agentOwnerId: agent?.ownerId, kind, risk, terms };
  const { ids, asksAdmins } = await new ApproverLookup(parts, () => parts.systemCall()).approversOf(about);
  const now = new Date();
  const expiresAt = new Date(Math.min(now.getTime() + terms.timeoutSeconds * 1000, latestEndOf(run))).toISOString();
  const state =
    ids.length > 0
      ? ({ status: 'pending', rank: 0, dueAt: expiresAt } as const)
      : ({ status: 'expired', reason: 'no_approver', rank: 1 } as const);
  return {
    ...{ id: newId(), ...about, agentId, agentName: agent?.name ?? agentName, approverIds: ids, asksAdmins },
    ...{ runId: run.id, stepId: step.id, runCredentialId: run.credentialId },
    ...{ title: titleOf(asked), toolName: tool.schema.name, serverId: plan.serverId, action: plan.action },
    ...{
      resourceIds: plan.resourceIds ?? [],
      input: step.input,
      inputHash: hashJson(step.input),
      toolHash: plan.toolHash,
      policyHash,
    },
    ...{ inputSchema: tool.schema.parameters, preview: cut(plan.preview), taintSources: run.taintSources ?? [] },
    ...{ requestedSchema: question?.schema, url: question?.url, questionState: question?.state },
    ...{ requestedAt: now.toISOString(), expiresAt, ...state, deleteAt: deletionOf(parts.settings, now) },
  };
}

function titleOf({ plan, question, isRetry }: AskedCall): string {
  return (question?.title ?? (isRetry ? `Repeat: ${plan.title}` : plan.title)).slice(0, 500);
}

function cut(preview: Preview): Preview {
  return { ...preview, text: preview.text.slice(0, MAX_PREVIEW) };
}
