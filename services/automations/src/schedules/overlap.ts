import type { UnitOfWork } from '@commonplace/kit/store';
import { RunStatus, type RunStatus as Status } from '@commonplace/proto/agents/v1/run.js';
import { cancelRun, hasEnded } from '../runs/cancel.js';
import type { EndParts } from '../runs/end.js';
import { unheld } from './fires.js';
import { type ScheduleParts, timestamp } from './parts.js';
import type { FireRecord, LastRun, ScheduleStateRecord } from './records.js';

const LIVE_AGENT_RUNS: ReadonlySet<Status> = new Set([
  ...[RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.AWAITING_APPROVAL, RunStatus.CANCELING],
]);

/** The state of a schedule's last run, as read before a unit of work. */
export interface LastRunSeen {
  readonly runId: string | undefined;
  readonly isLive: boolean;
}

/**
 * Returns whether the last run of a schedule is still live. It reads agent runs from the agents service, so
 * that an end counts before its event has arrived.
 */
export async function seeLastRun(
  { fires, peers, systemCall }: Pick<ScheduleParts, 'fires' | 'peers' | 'systemCall'>,
  { lastRun }: Pick<ScheduleStateRecord, 'lastRun'>,
): Promise<LastRunSeen> {
  if (lastRun === undefined || lastRun.hasEnded || lastRun.targetType === 'automation') {
    return { runId: lastRun?.id, isLive: false };
  }
  const fire = await fires.get(lastRun.fireId);
  if (fire?.state === 'starting') return { runId: lastRun.id, isLive: true };
  const { items } = await peers.agentRuns.findWorkRuns({ runIds: [lastRun.id] }, systemCall());
  return { runId: lastRun.id, isLive: items.some(({ status }) => LIVE_AGENT_RUNS.has(status)) };
}

/** Returns whether the last run is still live, as read within a unit of work. */
export async function isRunLive(
  { runs }: Pick<ScheduleParts, 'runs'>,
  work: UnitOfWork,
  lastRun: LastRun | undefined,
  seen: LastRunSeen,
): Promise<boolean> {
  if (lastRun === undefined || lastRun.hasEnded) return false;
  if (lastRun.targetType === 'agent') return lastRun.id === seen.runId ? seen.isLive : true;
  const run = await work.get(runs, lastRun.id);
  return run !== undefined && !hasEnded(run);
}

const REASON = 'a newer fire of its schedule has taken its place';

/**
 * Cancels the last run because a newer fire replaces it, and records that in its fire. Returns the id of an automation
 * run that a worker may be executing, which the caller broadcasts after the commit.
 */
export async function replaceLastRun(
  parts: Pick<ScheduleParts, 'fires'> & EndParts,
  work: UnitOfWork,
  { fireId, id, targetType }: LastRun,
): Promise<string | undefined> {
  const { fires, runs, now } = parts;
  const run = targetType === 'automation' ? await work.get(runs, id) : undefined;
  const canceled = run && (await cancelRun(parts, work, run, REASON));
  const fire = await work.get(fires, fireId);
  if (fire !== undefined) {
    const replaced: FireRecord = { ...fire, ...unheld(fire), outcome: 'replaced', reason: REASON };
    // The fire queue sends the cancellation to the agents service.
    const toCancel = { state: 'canceling' as const, dueAt: timestamp(now()), deleteAt: undefined };
    work.replace(fires, fire, targetType === 'agent' ? { ...replaced, ...toCancel } : replaced);
  }
  return canceled === undefined || hasEnded(canceled) ? undefined : id;
}
