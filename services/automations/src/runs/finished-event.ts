import { createEvent, type DomainEvent } from '@commonplace/kit/events';
import type { AutomationRunRecord, RunFailure, RunState } from './records.js';

export interface FinishedFacts {
  readonly status: RunState;
  readonly error?: RunFailure | undefined;
  /** The automation was switched off with it. */
  readonly disabled?: boolean;
  readonly notifyUserIds?: readonly string[];
}

/** Returns the event of a run that has ended; its chain has the automation itself as the last. */
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

/** Returns the chain of what a run does: the automations that led to it, and its own. */
export const chainOf = ({ chain, automationId }: Pick<AutomationRunRecord, 'chain' | 'automationId'>): string[] => [
  ...chain,
  automationId,
];
