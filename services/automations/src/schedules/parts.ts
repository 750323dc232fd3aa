import { systemActor } from '@commonplace/kit/events';
import type { Quota } from '@commonplace/kit/quota';
import type { Collections, UnitOfWork } from '@commonplace/kit/store';
import type { Departures } from '@commonplace/platform/departures';
import { automationCollection } from '../definitions/records.js';
import type { Shared } from '../parts.js';
import { laneCollection, runCollection } from '../runs/records.js';
import {
  fireCollection,
  type ScheduleRecord,
  type ScheduleStateRecord,
  scheduleCollection,
  stateCollection,
} from './records.js';

/** The collections that schedules read and write. */
export const SCHEDULE_RECORDS = {
  schedules: scheduleCollection,
  states: stateCollection,
  fires: fireCollection,
  automations: automationCollection,
  runs: runCollection,
  lanes: laneCollection,
};
type ScheduleRecords = Collections<typeof SCHEDULE_RECORDS>;

export interface ScheduleParts extends ScheduleRecords {
  readonly store: Shared['store'];
  readonly log: Shared['log'];
  readonly bus: Shared['bus'];
  readonly memberships: Shared['memberships'];
  readonly settings: Shared['settings'];
  readonly peers: Pick<
    Shared['peers'],
    'agents' | 'agentRuns' | 'auth' | 'conversations' | 'directory' | 'index' | 'workspaces'
  >;
  readonly systemCall: Shared['systemCall'];
  /** Returns the current time in epoch milliseconds. */
  readonly now: () => number;
  readonly quota: Quota;
  /** Tells which agents were deleted. */
  readonly departures: Pick<Departures, 'storeDeleted' | 'isDeleted'>;
  /** Milliseconds that a fire is kept after it is done. */
  readonly keepMs: number;
  /** The version of this process's time zone database. */
  readonly tzVersion: string;
}

/**
 * Milliseconds between two checks of a schedule whether the deletion of its Org was undone, in case the event that says
 * so is lost.
 */
export const HIDDEN_RECHECK_MS = 600_000;

/** The two records of a schedule: its settings and its state. */
export interface Pair {
  readonly schedule: ScheduleRecord;
  readonly state: ScheduleStateRecord;
}

/** Reads both records of a schedule; undefined if it was deleted. */
export async function readPair(
  { schedules, states }: Pick<ScheduleRecords, 'schedules' | 'states'>,
  work: UnitOfWork,
  scheduleId: string,
): Promise<Pair | undefined> {
  const schedule = await work.get(schedules, scheduleId);
  const state = await work.get(states, scheduleId);
  return schedule && state && { schedule, state };
}

/**
 * Writes the changed records of a schedule. It always writes the state and makes the commit depend on the schedule, so
 * that a change by a person and the start of a fire cannot both commit on outdated data.
 */
export function savePair(
  { schedules, states }: Pick<ScheduleRecords, 'schedules' | 'states'>,
  work: UnitOfWork,
  before: Pair,
  after: Pair,
): void {
  if (after.schedule === before.schedule) work.expect(schedules, before.schedule);
  else work.replace(schedules, before.schedule, after.schedule);
  work.replace(states, before.state, after.state);
}

export const timestamp = (ms: number): string => new Date(ms).toISOString();

/** Returns the fields of a schedule that the system changes. */
export const bySystem = (now: number): Pick<ScheduleRecord, 'updatedAt' | 'updatedBy'> => ({
  updatedAt: timestamp(now),
  updatedBy: systemActor('automations'),
});
