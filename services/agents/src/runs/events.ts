import type { Actor } from '@commonplace/kit/auth';
import { createEvent, type DomainEvent } from '@commonplace/kit/events';
import type { ApprovalRecord } from '../stores/approvals.js';
import type { RunRecord } from '../stores/runs.js';
import type { Outcome } from './outcome.js';

/** Returns the event that a run was created, for the unit of work that creates it. */
export function startedEvent(run: RunRecord): DomainEvent {
  const { id, tenant, chain, initiator } = run;
  const about = { service: 'agents', type: 'agent_run.started', subject: id, tenant, chain };
  return createEvent({ ...about, data: aboutRun(run), actor: initiator });
}

/** Returns the event that a run has ended, for the unit of work that ends it. */
export function finishedEvent(run: RunRecord, { status, error }: Outcome): DomainEvent {
  const { id, tenant, chain } = run;
  const about = { service: 'agents', type: 'agent_run.finished', subject: id, tenant, chain };
  return createEvent({ ...about, data: { ...aboutRun(run), status, code: error?.code ?? '' }, actor: agentOf(run) });
}

function aboutRun(run: RunRecord): object {
  const { id, orgId, workspaceId = '', userId, agentId = '', source, scheduleId = '', workItemId = '' } = run;
  const sessionId = run.sessionId ?? run.answersTo ?? '';
  return { runId: id, orgId, workspaceId, userId, agentId, sessionId, scheduleId, workItemId, source };
}

type ApprovalFields = Omit<ApprovalRecord, 'version'>;
type ChainSource = Pick<RunRecord, 'chain'> | undefined;

/**
 * Returns the event that notifies approvers of an approval, for the unit of work that opens it. `asked` are the people
 * to notify, who may be later replacements.
 */
export function requestEvent(approval: ApprovalFields, run: ChainSource, asked = approval.approverIds): DomainEvent {
  const { title, status, resourceIds = [] } = approval;
  // An approval without approvers has ended already.
  const notifyUserIds = status === 'pending' ? asked : [];
  return approvalEvent('requested', approval, run, { title, resourceIds, notifyUserIds }, agentOf(approval));
}

/** Returns the event that an approval has ended, for the unit of work that ends it. */
export function decisionEvent(approval: ApprovalFields, run: ChainSource): DomainEvent {
  const { status, deciderId = '', reason = '', decidedBy = agentOf(approval) } = approval;
  return approvalEvent('decided', approval, run, { status, deciderId, reason }, decidedBy);
}

function approvalEvent(
  verb: string,
  approval: ApprovalFields,
  run: ChainSource,
  more: object,
  actor: Actor,
): DomainEvent {
  const { id, tenant, runId, orgId, workspaceId = '', agentId = '', runUserId, approverIds, kind, risk } = approval;
  const data = { approvalId: id, runId, orgId, workspaceId, agentId, userId: runUserId, approverIds, kind, risk };
  const about = { service: 'agents', type: `agent_approval.${verb}`, subject: id, tenant, chain: run?.chain };
  return createEvent({ ...about, data: { ...data, ...more }, actor });
}

function agentOf({ agentId, agentName = 'Agent' }: Pick<RunRecord, 'agentId' | 'agentName'>): Actor {
  if (agentId === undefined) return { type: 'system', id: 'assistant', name: 'Assistant' };
  return { type: 'agent', id: agentId, name: agentName };
}
