import { setImmediate as breathe } from 'node:timers/promises';
import { jsonBytes } from '@commonplace/kit/json';
import { actorMessage } from '@commonplace/platform/actors';
import {
  DeliveryTargetType,
  FireOutcome,
  Schedule,
  ScheduleCatchup,
  type ScheduleFire,
  type ScheduleLastRun,
  ScheduleOverlap,
  type ScheduleSlot,
  ScheduleStatus,
  ScheduleTargetType,
} from '@commonplace/proto/automations/v1/schedule.js';
import { type ScheduleParts, timestamp } from './parts.js';
import type { FireRecord, LastRun, ScheduleRecord, ScheduleStateRecord } from './records.js';
import { nextSlot, type Slot, slotsAfter } from './slots.js';

const NEXT_RUNS = 5;
const FIRES = 100;
const RECENT_RUNS = 20;

export interface Shown {
  readonly fires?: readonly FireRecord[];
  readonly recentRuns?: readonly FireRecord[];
}

/**
 * Yields schedules as messages. It lets other work run between two of them, so that computing their slots does not block
 * other requests.
 */
export async function* presentSchedules(
  parts: ScheduleParts,
  schedules: readonly ScheduleRecord[],
): AsyncGenerator<Schedule> {
  const states = new Map((await parts.states.getMany(schedules.map(({ id }) => id))).map((state) => [state.id, state]));
  const statuses = await statusesOf(
    parts,
    [...states.values()].map(({ lastRun }) => lastRun),
  );
  for (const schedule of schedules) {
    yield scheduleMessage(schedule, states.get(schedule.id), statuses, parts.now());
    await breathe();
  }
}

export async function presentSchedule(
  parts: ScheduleParts,
  schedule: ScheduleRecord,
  state: ScheduleStateRecord | undefined,
  wants: { readonly fires: boolean; readonly recentRuns: boolean } = { fires: false, recentRuns: false },
): Promise<Schedule> {
  const fires = wants.fires ? await lastFires(parts, schedule.id, FIRES) : [];
  const runs = wants.recentRuns ? await lastRuns(parts, schedule.id) : [];
  const statuses = await statusesOf(parts, [state?.lastRun, ...runs]);
  return {
    ...scheduleMessage(schedule, state, statuses, parts.now()),
    fires: fires.map(fireMessage),
    recentRuns: runs.map((run) => runMessage(run, statuses)),
  };
}

/** Returns the last decided fires, newest first. */
async function lastFires({ fires }: ScheduleParts, scheduleId: string, limit: number): Promise<FireRecord[]> {
  // Fires written ahead are few, and are the newest.
  const found = await fires.find({ where: { scheduleId }, sort: ['-scheduledFor'], limit: limit + FIRES });
  return found.filter(({ outcome }) => outcome !== undefined).slice(0, limit);
}

async function lastRuns({ fires }: ScheduleParts, scheduleId: string): Promise<LastRun[]> {
  const where = { scheduleId, startedAt: { gt: '' } };
  const found = await fires.find({ where, sort: ['-startedAt'], limit: RECENT_RUNS * 2 });
  return found
    .flatMap(({ runId, startedAt, scheduledFor, targetType, id, runStatus, runEnded = false }) =>
      runId === undefined || startedAt === undefined || targetType === undefined
        ? []
        : [
            {
              id: runId,
              fireId: id,
              targetType,
              status: runStatus ?? 'queued',
              hasEnded: runEnded,
              scheduledFor,
              startedAt,
            },
          ],
    )
    .slice(0, RECENT_RUNS);
}

/** Returns the current statuses of automation runs, which are records of this service. */
async function statusesOf(
  { runs }: ScheduleParts,
  shown: readonly (LastRun | undefined)[],
): Promise<Map<string, string>> {
  const ids = shown.flatMap((run) => (run?.targetType === 'automation' ? [run.id] : []));
  return new Map((await runs.getMany([...new Set(ids)])).map(({ id, status }) => [id, status]));
}

function scheduleMessage(
  schedule: ScheduleRecord,
  state: ScheduleStateRecord | undefined,
  statuses: ReadonlyMap<string, string>,
  now: number,
): Schedule {
  const { timing, deliverTo, status } = schedule;
  const { targetType, agentId, automationId } = schedule;
  const slots = status === 'active' ? nextSlots(schedule, state, now) : [];
  return {
    ...Schedule.fromPartial({}),
    ...{ id: schedule.id, workspaceId: schedule.workspaceId, name: schedule.name, agentId, automationId },
    target: { type: ScheduleTargetType[upper(targetType)], id: agentId ?? automationId ?? '' },
    input: jsonBytes(schedule.input),
    ...{ cron: timing.cron, intervalSeconds: timing.intervalSeconds, runAt: timing.runAt, timezone: timing.timezone },
    ...{ startAt: timing.startAt, endAt: timing.endAt, maxRuns: schedule.maxRuns, jitterSeconds: timing.jitterSeconds },
    overlap: ScheduleOverlap[upper(schedule.overlap)],
    catchup: ScheduleCatchup[upper(schedule.catchup)],
    ...{ catchupWindowSeconds: schedule.catchupWindowSeconds, pauseAfterFailures: schedule.pauseAfterFailures },
    isActive: status === 'active',
    deliverTo: deliverTo && { type: DeliveryTargetType[upper(deliverTo.type)], id: deliverTo.id },
    status: ScheduleStatus[upper(status)],
    nextRunAt: slots[0] && timestamp(slots[0].scheduledFor),
    nextRuns: slots.map(slotMessage),
    lastRun: state?.lastRun && runMessage(state.lastRun, statuses),
    ...{ runCount: state?.runCount ?? 0, skippedCount: state?.skippedCount ?? 0, missedCount: state?.missedCount ?? 0 },
    consecutiveFailures: state?.consecutiveFailures ?? 0,
    ...{ pausedReason: schedule.pausedReason, error: schedule.error },
    effectivePeriodSeconds: effectivePeriod(state),
    warnings: warningsOf(schedule, state, slots),
    actsAs: actorMessage({ type: 'user', id: schedule.actsAs.userId, name: schedule.actsAs.userName }),
    createdBy: actorMessage(schedule.createdBy),
    ...{ createdAt: schedule.createdAt, updatedAt: schedule.updatedAt, version: schedule.version },
  };
}

const upper = <T extends string>(name: T): Uppercase<T> => name.toUpperCase() as Uppercase<T>;

const slotMessage = ({ scheduledFor, startsAt }: Slot): ScheduleSlot => ({
  ...{ scheduledFor: timestamp(scheduledFor), startsAt: timestamp(startsAt) },
});

function runMessage(
  { id, status, scheduledFor, startedAt }: LastRun,
  statuses: ReadonlyMap<string, string>,
): ScheduleLastRun {
  return { id, status: statuses.get(id) ?? status, scheduledFor, startedAt };
}

function fireMessage({ scheduledFor, outcome, runId, startedAt, lagMs, reason }: FireRecord): ScheduleFire {
  const named = outcome === undefined ? FireOutcome.UNSPECIFIED : FireOutcome[upper(outcome)];
  return { scheduledFor, outcome: named, runId, startedAt, lagMs, reason };
}

/** Returns the next slots, at most as many as `max_runs` leaves. */
function nextSlots(
  { id, timing, maxRuns }: ScheduleRecord,
  state: ScheduleStateRecord | undefined,
  now: number,
): Slot[] {
  const left = maxRuns === undefined ? NEXT_RUNS : Math.min(NEXT_RUNS, maxRuns - (state?.runCount ?? 0));
  return slotsAfter(id, timing, now, Number.POSITIVE_INFINITY, Math.max(0, left));
}

function median(values: readonly number[]): number | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const [low, high] = [sorted[Math.ceil(sorted.length / 2) - 1], sorted[middle]];
  return low === undefined || high === undefined ? undefined : (low + high) / 2;
}

/** Returns the median interval between the last fires, in seconds. */
function effectivePeriod(state: ScheduleStateRecord | undefined): number | undefined {
  const starts = (state?.recentStarts ?? []).map((at) => Date.parse(at));
  const distance = median(starts.slice(1).map((at, index) => at - (starts[index] ?? at)));
  return distance === undefined ? undefined : distance / 1000;
}

/** Returns the warning `cadence_not_kept` if runs usually take longer than the interval between the next two slots. */
function warningsOf(
  { timing, status }: ScheduleRecord,
  state: ScheduleStateRecord | undefined,
  [next, after]: readonly Slot[],
): string[] {
  const took = median(state?.recentDurations ?? []);
  if (took === undefined || status !== 'active' || next === undefined || timing.runAt !== undefined) return [];
  const following = after?.scheduledFor ?? nextSlot(timing, next.scheduledFor);
  return following !== undefined && took > following - next.scheduledFor ? ['cadence_not_kept'] : [];
}
