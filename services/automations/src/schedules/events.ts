import { createEvent, type DomainEvent, systemActor } from '@commonplace/kit/events';
import type { FireOutcome, FireRecord, PauseReason, ScheduleRecord } from './records.js';

function event(type: string, { id, tenant, workspaceId, name }: ScheduleRecord, more: object): DomainEvent {
  return createEvent({
    ...{ service: 'automations', type: `schedule.${type}`, subject: id, tenant, actor: systemActor('automations') },
    data: { workspaceId, name, ...more },
  });
}

/** Returns the event that a fire has started the target. */
export const firedEvent = (
  schedule: ScheduleRecord,
  { scheduledFor, runId }: Pick<FireRecord, 'scheduledFor' | 'runId'>,
  outcome: FireOutcome,
): DomainEvent => event('fired', schedule, { scheduledFor, outcome, runId: runId ?? '' });

/** Returns the event that slots were missed; `scheduledFor` is the last of them. */
export const missedEvent = (schedule: ScheduleRecord, scheduledFor: string, count: number): DomainEvent =>
  event('missed', schedule, { scheduledFor, outcome: 'missed', reason: count === 1 ? '' : `${count} slots` });

/** Returns the event that the system has paused a schedule or ended it with an error. */
export const pausedEvent = (schedule: ScheduleRecord, reason: PauseReason | string): DomainEvent =>
  event('paused', schedule, { reason, notifyUserIds: [...new Set([schedule.actsAs.userId, schedule.createdById])] });
