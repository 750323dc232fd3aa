import type { EventBus, Subscription } from '@commonplace/kit/events';
import { inWork, type UnitOfWork } from '@commonplace/kit/store';
import { consume, type TypedEvent } from '@commonplace/platform/events';
import { LIVE_STATES } from '../runs/records.js';
import { type Pair, readPair, type ScheduleParts, savePair, timestamp } from './parts.js';
import type { FireRecord, ScheduleStateRecord } from './records.js';
import { countFailure } from './start.js';

const FAILURES: ReadonlySet<string> = new Set(['failed', 'expired']);
/** Number of runs whose duration is kept. */
const RECENT = 10;

const ENDED = [
  'agents.agent_run.finished',
  'automations.automation_run.finished',
  'automations.automation_run.failed',
] as const;

/** Subscribes to the ends of runs, and records those of runs that schedules have started. */
export function watchRunEnds(parts: ScheduleParts, bus: EventBus): Promise<Subscription> {
  return consume(bus, { consumer: 'automations.schedule-runs', events: ENDED }, async (event) => {
    const status = await statusIn(parts, event);
    if (status !== undefined) await endRun(parts, event.subject, status);
  });
}

/** Returns the final status of a run; undefined if it goes on because a retry has begun. */
async function statusIn(
  { runs }: ScheduleParts,
  { name, subject, data }: TypedEvent<(typeof ENDED)[number]>,
): Promise<string | undefined> {
  const reported = data.status === '' ? undefined : data.status;
  if (name === 'agents.agent_run.finished') return reported;
  const status = (await runs.get(subject))?.status ?? reported ?? 'completed';
  return (LIVE_STATES as readonly string[]).includes(status) ? undefined : status;
}

/** Records the end of a run in its fire and its schedule, once. Makes the oldest waiting fire due. */
async function endRun(parts: ScheduleParts, runId: string, status: string): Promise<void> {
  const [known] = await parts.fires.find({ where: { runId }, limit: 1 });
  if (known === undefined || known.runEnded === true) return;
  await inWork(parts.store, async (work) => {
    const fire = await work.get(parts.fires, known.id);
    if (fire === undefined || fire.runEnded === true || fire.runId !== runId) return;
    work.replace(parts.fires, fire, { ...fire, runStatus: status, runEnded: true });
    const before = await readPair(parts, work, fire.scheduleId);
    if (before === undefined) return;
    const now = parts.now();
    const after = await countEnd(parts, work, before, fire, status, now);
    await releaseWaiting(parts, work, after, now);
    savePair(parts, work, before, after);
  });
}

async function countEnd(
  parts: ScheduleParts,
  work: UnitOfWork,
  { schedule, state }: Pair,
  { runId, startedAt }: FireRecord,
  status: string,
  now: number,
): Promise<Pair> {
  const took = startedAt === undefined ? 0 : Math.max(0, now - Date.parse(startedAt));
  const { lastRun } = state;
  const after: ScheduleStateRecord = {
    ...state,
    recentDurations: [...state.recentDurations, took].slice(-RECENT),
    ...(lastRun?.id === runId && lastRun !== undefined && { lastRun: { ...lastRun, status, hasEnded: true } }),
    ...(status === 'completed' && { consecutiveFailures: 0 }),
  };
  const pair = { schedule, state: after };
  return FAILURES.has(status) ? countFailure(parts, work, pair, now) : pair;
}

/** Makes the oldest waiting fire due, in the unit of work in which a run has ended. */
export async function releaseWaiting(
  { fires }: Pick<ScheduleParts, 'fires'>,
  work: UnitOfWork,
  { schedule }: Pick<Pair, 'schedule'>,
  now: number,
): Promise<void> {
  const where = { scheduleId: schedule.id, state: 'waiting' };
  const [found] = await fires.find({ where, sort: ['scheduledFor'], limit: 1 });
  const fire = found && (await work.get(fires, found.id));
  if (fire?.state === 'waiting') work.replace(fires, fire, { ...fire, dueAt: timestamp(now) });
}
