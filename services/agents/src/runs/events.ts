import type { Actor } from '@commonplace/kit/auth';
import { createEvent, type DomainEvent } from '@commonplace/kit/events';
import type { ApprovalRecord } from '../stores/approvals.js';
import type { RunRecord } from '../stores/runs.js';
import type { Outcome } from './outcome.js';

/** Tells that there is a run, in the unit that creates it. */
export function startedEvent(run: RunRecord): DomainEvent {
  const { id, tenant, chain, initiator } = run;
  const about = { service: 'agents', type: 'agent_run.started', subject: id, tenant, chain };
  return createEvent({ ...about, data: aboutRun(run), actor: initiator });
}

/** Tells how a run has ended, in the unit that ends it. */
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

type Asked = Omit<ApprovalRecord, 'version'>;
type Led = Pick<RunRecord, 'chain'> | undefined;

/** Tells those who may decide an approval of it, in the unit that opens it; later those who may since others have left. */
export function requestEvent(approval: Asked, run: Led, asked = approval.approverIds): DomainEvent {
  const { title, status } = approval;
  // One that nobody may decide has ended already.
  const notifyUserIds = status === 'pending' ? asked : [];
  return approvalEvent('requested', approval, run, { title, notifyUserIds }, agentOf(approval));
}

/** Tells how an approval has ended, in the unit that ends it. */
export function decisionEvent(approval: Asked, run: Led): DomainEvent {
  const { status, deciderId = '', reason = '', decidedBy = agentOf(approval) } = approval;
  return approvalEvent('decided', approval, run, { status, deciderId, reason }, decidedBy);
}

function approvalEvent(verb: string, approval: Asked, run: Led, more: object, actor: Actor): DomainEvent {
  const { id, tenant, runId, orgId, workspaceId = '', agentId = '', runUserId, approverIds, kind, risk } = approval;
  const data = { approvalId: id, runId, orgId, workspaceId, agentId, userId: runUserId, approverIds, kind, risk };
  const about = { service: 'agents', type: `agent_approval.${verb}`, subject: id, tenant, chain: run?.chain };
  return createEvent({ ...about, data: { ...data, ...more }, actor });
}

function agentOf({ agentId, agentName = 'Agent' }: Pick<RunRecord, 'agentId' | 'agentName'>): Actor {
  if (agentId === undefined) return { type: 'system', id: 'assistant', name: 'Assistant' };
  return { type: 'agent', id: agentId, name: agentName };
}
