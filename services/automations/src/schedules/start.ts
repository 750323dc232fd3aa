import type { Actor } from '@commonplace/kit/auth';
import type { HeldJob } from '@commonplace/kit/jobs';
import type { UnitOfWork } from '@commonplace/kit/store';
import type { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { isHidden } from '../hidden-workspaces.js';
import { CANCEL_TOPIC, hasEnded as hasRunEnded } from '../runs/cancel.js';
import { startRun } from '../runs/start.js';
import { mayStart } from './access.js';
import { firedEvent } from './events.js';
import { doneFire, unheld, withdrawFires } from './fires.js';
import { agentInputOf } from './input.js';
import { isRunLive, type LastRunSeen, replaceLastRun, seeLastRun } from './overlap.js';
import { HIDDEN_RECHECK_MS, type Pair, readPair, type ScheduleParts, savePair, timestamp } from './parts.js';
import { failSchedule, pauseSchedule, type ScheduleError } from './pause.js';
import { advanceSchedule, completed, completeIfOver, LATE_MS } from './plan.js';
import { type FireRecord, runIdOf, type ScheduleRecord, type ScheduleStateRecord } from './records.js';

/** Milliseconds after which a waiting fire checks again, in case the event of the run's end is lost. */
const WAIT_MS = 15_000;
/** Number of start times that are kept, for the median interval. */
const RECENT = 11;

/** `hidden`: the deletion of the Org is scheduled, so that nobody has access until it is undone. */
type ActorAccess = 'ok' | 'archived' | 'lost' | 'hidden';

/** Facts about a schedule that are read before the unit of work that decides its fire. */
interface Facts {
  readonly actorAccess: Exclude<ActorAccess, 'hidden'>;
  readonly lastRun: LastRunSeen;
  /** Automation runs that the unit of work has canceled, to be broadcast. */
  readonly canceled: Set<string>;
}

/** Decides a due fire: it starts the target, waits, or is skipped. */
export async function decideFire(parts: ScheduleParts, job: HeldJob<FireRecord>): Promise<void> {
  const { scheduleId, isManual, isCatchup, state: waits, startsAt } = job.record;
  const [schedule, state] = await Promise.all([parts.schedules.get(scheduleId), parts.states.get(scheduleId)]);
  if (schedule === undefined || state === undefined) return job.remove();
  const actorAccess = await actorAccessOf(parts, schedule);
  // The slot counts as missed once the Org is restored.
  if (actorAccess === 'hidden') return job.retryIn(HIDDEN_RECHECK_MS);
  const isLate = Date.parse(startsAt) <= parts.now() - LATE_MS;
  if (waits === 'pending' && isLate && !isManual && !isCatchup && schedule.status === 'active') {
    return advanceSchedule(parts, scheduleId);
  }
  const canceled = new Set<string>();
  const facts = {
    actorAccess,
    lastRun: await seeLastRun(parts, state),
    canceled,
  };
  await job.endIn((work, fire) => decide(parts, work, fire, facts));
  for (const id of canceled) parts.bus.broadcast(CANCEL_TOPIC, id);
}

async function decide(parts: ScheduleParts, work: UnitOfWork, fire: FireRecord, facts: Facts): Promise<void> {
  const before = await readPair(parts, work, fire.scheduleId);
  if (before === undefined || (before.schedule.status !== 'active' && !fire.isManual)) {
    work.remove(parts.fires, fire);
    return;
  }
  const now = parts.now();
  const { pair, fire: after } = await outcomeOf(parts, work, before, fire, facts, now);
  work.replace(parts.fires, fire, after);
  const done = after.state === 'waiting' ? pair : await completeIfOver(parts, work, pair, now);
  await saveDecided(parts, work, before, done, now);
}

/**
 * Writes a schedule after a decision about one of its fires. If that completes it although it has other fires, it has had
 * all of its runs, and these are withdrawn.
 */
export async function saveDecided(
  parts: ScheduleParts,
  work: UnitOfWork,
  before: Pair,
  after: Pair,
  now: number,
): Promise<void> {
  const isCompleted = after.schedule.status === 'completed' && before.schedule.status === 'active';
  if (isCompleted) await withdrawFires(parts, work, after.schedule.id, now, NO_RUNS_LEFT);
  savePair(parts, work, before, after);
}

/** What is recorded about slots beyond `max_runs`. */
const NO_RUNS_LEFT = { outcome: 'coalesced', reason: 'max_runs was reached' } as const;

/** A schedule and its fire after a decision. */
interface Decided {
  readonly pair: Pair;
  readonly fire: FireRecord;
}

async function outcomeOf(
  parts: ScheduleParts,
  work: UnitOfWork,
  pair: Pair,
  fire: FireRecord,
  { actorAccess, lastRun, canceled }: Facts,
  now: number,
): Promise<Decided> {
  const { schedule, state } = pair;
  if (actorAccess === 'archived') {
    const paused = await pauseSchedule(parts, work, pair, 'workspace_archived', now, fire.id);
    return notStarted(parts, paused, fire, 'workspace_archived', now);
  }
  if (actorAccess === 'lost') return failed(parts, work, pair, fire, 'access_lost', now);
  if (!fire.isManual && schedule.maxRuns !== undefined && state.runCount >= schedule.maxRuns) {
    const over = doneFire(parts, fire, now, NO_RUNS_LEFT);
    return { pair: (await awaitsAnswer(parts, work, state)) ? pair : completed(pair, now), fire: over };
  }
  if (fire.isManual || schedule.overlap === 'allow') return start(parts, work, pair, fire, now);
  const isLive = await isRunLive(parts, work, state.lastRun, lastRun);
  const others = await earlierWaiting(parts, work, fire);
  if (schedule.catchup === 'all' && fire.isCatchup) {
    return isLive || others ? waiting(pair, fire, now) : start(parts, work, pair, fire, now);
  }
  if (!isLive && !others) return start(parts, work, pair, fire, now);
  if (schedule.overlap === 'cancel_previous') {
    const replaced = isLive && state.lastRun && (await replaceLastRun(parts, work, state.lastRun));
    if (replaced) canceled.add(replaced);
    return start(parts, work, pair, fire, now);
  }
  if (fire.state === 'waiting' || (schedule.overlap === 'buffer_one' && !others)) return waiting(pair, fire, now);
  const skipped = { ...state, skippedCount: state.skippedCount + 1 };
  const reason = 'the run before goes on';
  return {
    pair: { schedule, state: skipped },
    fire: doneFire(parts, fire, now, { outcome: 'skipped_overlap', reason }),
  };
}

function waiting(pair: Pair, fire: FireRecord, now: number): Decided {
  return { pair, fire: { ...fire, state: 'waiting', outcome: 'buffered', dueAt: timestamp(now + WAIT_MS) } };
}

/** Returns whether an earlier fire of the schedule waits for a run or is being caught up. */
async function earlierWaiting(parts: ScheduleParts, work: UnitOfWork, fire: FireRecord): Promise<boolean> {
  const { scheduleId, scheduledFor } = fire;
  const where = { scheduleId, state: { in: ['waiting', 'pending'] }, scheduledFor: { lt: scheduledFor } };
  for (const { id } of await parts.fires.find({ where, sort: ['scheduledFor'], limit: 3 })) {
    const other = await work.get(parts.fires, id);
    if (other?.state === 'waiting' || (other?.state === 'pending' && other.isCatchup)) return true;
  }
  return false;
}

// ---- start

async function start(
  parts: ScheduleParts,
  work: UnitOfWork,
  pair: Pair,
  fire: FireRecord,
  now: number,
): Promise<Decided> {
  if (pair.schedule.targetType === 'agent') return startAgent(pair, fire, now);
  const { schedule } = pair;
  const automation = await work.get(parts.automations, schedule.automationId ?? '');
  if (automation === undefined || automation.workspaceId !== schedule.workspaceId) {
    const paused = await pauseSchedule(parts, work, pair, 'automation_deleted', now, fire.id);
    return notStarted(parts, paused, fire, 'target_gone', now);
  }
  if (!automation.isActive) {
    const after = await countFailure(parts, work, pair, now, fire.id);
    return notStarted(parts, after, fire, 'automation_inactive', now);
  }
  work.expect(parts.automations, automation);
  const { actsAs } = schedule;
  const by: Actor = { type: 'user', id: actsAs.userId, name: actsAs.userName };
  const run = await startRun(
    parts,
    automation,
    {
      ...{ id: runIdOf(fire.id), input: { input: schedule.input ?? {} } },
      trigger: { type: 'schedule', by, scheduleId: schedule.id, scheduledFor: fire.scheduledFor },
      ...(automation.definition.runAs === 'triggering_user' && { actsAs }),
    },
    work,
    now,
  );
  const hasEnded = hasRunEnded(run);
  const ending = hasEnded ? { runStatus: run.status, runEnded: true } : {};
  const decided = counted(pair, doneFire(parts, fire, now, ending), run.status, now);
  return { ...decided, pair: confirmStart(work, decided.pair, decided.fire, now) };
}

/**
 * Marks a fire as started and counts it; the queue then asks the agents service to start the run. Until the service has
 * answered, the schedule is not completed and the event is not published.
 */
function startAgent(pair: Pair, fire: FireRecord, now: number): Decided {
  const { agentId = '', actsAs, input, deliverTo } = pair.schedule;
  const { lastRun } = pair.state;
  const launch = { agentId, actsAs, input: agentInputOf(input), deliverTo, lastRun };
  const starting: FireRecord = { ...fire, ...unheld(fire), state: 'starting', dueAt: timestamp(now), launch };
  return counted(pair, starting, 'queued', now);
}

/** Returns whether the last run of a schedule is one that the agents service may still refuse. */
async function awaitsAnswer(
  { fires }: Pick<ScheduleParts, 'fires'>,
  work: UnitOfWork,
  { lastRun }: ScheduleStateRecord,
): Promise<boolean> {
  const fire = lastRun?.targetType === 'agent' ? await work.get(fires, lastRun.fireId) : undefined;
  return fire?.launch !== undefined;
}

/** Publishes that a fire has started its target. Returns the schedule, which is completed if that was its last run. */
export function confirmStart(work: UnitOfWork, pair: Pair, fire: FireRecord, now: number): Pair {
  const { schedule, state } = pair;
  work.publish(firedEvent(schedule, fire, fire.isManual ? 'manual' : 'started'));
  const isOver = schedule.maxRuns !== undefined && state.runCount >= schedule.maxRuns && schedule.status === 'active';
  return isOver ? completed(pair, now) : pair;
}

/** Counts a fire that starts its target. */
function counted({ schedule, state }: Pair, fire: FireRecord, status: string, now: number): Decided {
  const { targetType } = schedule;
  const startedAt = timestamp(now);
  const runId = runIdOf(fire.id);
  const outcome = fire.isManual ? ('manual' as const) : ('started' as const);
  const lagMs = Math.max(0, now - Date.parse(fire.startsAt));
  const reason = fire.isCatchup ? 'caught up' : fire.outcome === 'buffered' ? 'buffered' : undefined;
  const hasEnded = fire.runEnded === true;
  const lastRun = {
    ...{ id: runId, fireId: fire.id, targetType, status, hasEnded, scheduledFor: fire.scheduledFor, startedAt },
  };
  const after: ScheduleStateRecord = {
    ...{ ...state, lastRun, runCount: state.runCount + (fire.isManual ? 0 : 1) },
    recentStarts: fire.isManual ? state.recentStarts : [...state.recentStarts, startedAt].slice(-RECENT),
  };
  return {
    pair: { schedule, state: after },
    fire: { ...fire, targetType, runId, startedAt, outcome, reason, lagMs },
  };
}

// ---- fires that do not start

function notStarted(parts: ScheduleParts, pair: Pair, fire: FireRecord, reason: string, now: number): Decided {
  return { pair, fire: doneFire(parts, fire, now, { outcome: 'failed_to_start', reason }) };
}

async function failed(
  parts: ScheduleParts,
  work: UnitOfWork,
  pair: Pair,
  fire: FireRecord,
  error: ScheduleError,
  now: number,
): Promise<Decided> {
  return notStarted(parts, await failSchedule(parts, work, pair, error, now, fire.id), fire, error, now);
}

/** Counts a failure, and pauses the schedule after too many in a row. */
export async function countFailure(
  parts: ScheduleParts,
  work: UnitOfWork,
  { schedule, state }: Pair,
  now: number,
  except?: string,
): Promise<Pair> {
  const consecutiveFailures = state.consecutiveFailures + 1;
  const pair = { schedule, state: { ...state, consecutiveFailures } };
  const { pauseAfterFailures } = schedule;
  if (pauseAfterFailures === 0 || consecutiveFailures < pauseAfterFailures) return pair;
  return pauseSchedule(parts, work, pair, 'failures', now, except);
}

/** Returns whether the person whose rights a schedule has may still start its target. */
export async function actorAccessOf(
  parts: Pick<ScheduleParts, 'memberships' | 'systemCall' | 'peers'>,
  { workspaceId, targetType, actsAs }: ScheduleRecord,
): Promise<ActorAccess> {
  const { memberships, systemCall } = parts;
  const known = (await memberships.of(actsAs.userId, systemCall())).workspaces.get(workspaceId);
  const suffices = (role: WorkspaceRole | undefined) => role !== undefined && mayStart({ targetType }, role);
  const place = suffices(known?.role)
    ? known
    : (await memberships.fresh(actsAs.userId, systemCall())).workspaces.get(workspaceId);
  if (place === undefined && (await isHidden(parts, workspaceId))) return 'hidden';
  if (place === undefined || !suffices(place.role)) return 'lost';
  return place.archived ? 'archived' : 'ok';
}
