import type { UnitOfWork } from '@commonplace/kit/store';
import { pausedEvent } from './events.js';
import { withdrawFires } from './fires.js';
import { bySystem, type Pair, type ScheduleParts } from './parts.js';
import type { PauseReason } from './records.js';

/** The reason for the status `error` of a schedule. */
export type ScheduleError = 'target_gone' | 'access_lost';

type PauseParts = Pick<ScheduleParts, 'fires' | 'keepMs'>;

/**
 * Pauses an active schedule, withdraws its fires that have not started, and publishes the event, in a unit of work.
 * `except` is the id of the fire that the caller handles.
 */
export async function pauseSchedule(
  parts: PauseParts,
  work: UnitOfWork,
  pair: Pair,
  pausedReason: PauseReason,
  now: number,
  except?: string,
): Promise<Pair> {
  if (pair.schedule.status !== 'active') return pair;
  const schedule = { ...pair.schedule, status: 'paused' as const, pausedReason, ...bySystem(now) };
  work.publish(pausedEvent(schedule, pausedReason));
  return { schedule, state: await stop(parts, work, pair, now, except) };
}

/** Ends an active schedule with an error that only a person can fix. */
export async function failSchedule(
  parts: PauseParts,
  work: UnitOfWork,
  pair: Pair,
  error: ScheduleError,
  now: number,
  except?: string,
): Promise<Pair> {
  if (pair.schedule.status !== 'active') return pair;
  const schedule = { ...pair.schedule, status: 'error' as const, error, ...bySystem(now) };
  work.publish(pausedEvent(schedule, error));
  return { schedule, state: await stop(parts, work, pair, now, except) };
}

const PAUSED = 'the schedule was paused';

async function stop(parts: PauseParts, work: UnitOfWork, pair: Pair, now: number, except?: string) {
  const missed = await withdrawFires(parts, work, pair.schedule.id, now, { reason: PAUSED, except });
  return { ...pair.state, planAt: undefined, missedCount: pair.state.missedCount + missed };
}
