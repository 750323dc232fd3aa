import { createEvent, type DomainEvent } from '@commonplace/kit/events';
import type { AutomationRunRecord, RunFailure, RunState } from './records.js';

interface FinishedFacts {
  readonly status: RunState;
  readonly error?: RunFailure | undefined;
  /** Whether this failure switched the automation off. */
  readonly disabled?: boolean;
  readonly notifyUserIds?: readonly string[];
}

/** Returns the event for an ended run. Its chain ends with the automation itself. */
export function finishedEvent(run: AutomationRunRecord, facts: FinishedFacts): DomainEvent {
  const { id, tenant, automationId, automationName, workspaceId, trigger } = run;
  const { status, error, disabled = false, notifyUserIds = [] } = facts;
  return createEvent({
    service: 'automations',
    type: status === 'failed' ? 'automation_run.failed' : 'automation_run.finished',
    subject: id,
    data: {
      ...{ automationId, workspaceId, automationName, status, errorCode: error?.code ?? '', disabled },
      ...{ notifyUserIds: [...notifyUserIds], scheduleId: trigger.scheduleId ?? '' },
    },
    tenant,
    actor: { type: 'automation', id: automationId, name: automationName, person: run.actsAs.userId },
    chain: chainOf(run),
  });
}

/** Returns the chain for everything a run causes: the automations that led to it, then its own. */
export const chainOf = ({ chain, automationId }: Pick<AutomationRunRecord, 'chain' | 'automationId'>): string[] => [
  ...chain,
  automationId,
];
