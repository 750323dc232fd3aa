import type { UnitOfWork } from '@commonplace/kit/store';
import { DAY_MS } from '../config.js';
import type { Parts } from '../parts.js';
import type { RunEventType, RunRecord } from '../stores/runs.js';

export interface NewRunEvent {
  readonly type: RunEventType;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Adds events to the log of a run, in the unit of work that changes the run. Returns the new number of events. */
export function logEvents(
  { runEvents, settings }: Pick<Parts, 'runEvents' | 'settings'>,
  work: UnitOfWork,
  { id, tenant, eventCount }: Pick<RunRecord, 'id' | 'tenant' | 'eventCount'>,
  events: readonly NewRunEvent[],
): number {
  const now = new Date();
  const at = now.toISOString();
  const deleteAt = deletionOf(settings, now);
  events.forEach((event, i) => {
    const seq = eventCount + 1 + i;
    work.insert(runEvents, { id: `${id}:${seq}`, tenant, runId: id, seq, at, deleteAt, ...event });
  });
  return eventCount + events.length;
}

/** Maximum number of days that a run may take, including its waiting time. */
const MAX_RUN_DAYS = 45;

/** Returns when a record of a run that is written now is deleted: never before the run itself. */
export function deletionOf({ runDays }: Pick<Parts['settings'], 'runDays'>, now: Date): string {
  return new Date(now.getTime() + (runDays + MAX_RUN_DAYS) * DAY_MS).toISOString();
}
