import type { Collection, UnitOfWork } from '@commonplace/kit/store';
import type { AutomationRecord } from '../definitions/records.js';
import type { AutomationRunRecord, LaneRecord, RunState, SkipReason } from './records.js';

export interface LaneParts {
  readonly runs: Collection<AutomationRunRecord>;
  readonly lanes: Collection<LaneRecord>;
}

/** How a run begins: due at once, waiting for earlier runs, or skipped with a reason. */
export type Admission = 'due' | 'behind' | SkipReason;

/** Returns how the next run of an automation begins, given the numbers of its active and queued runs. */
export function admit(
  concurrency: AutomationRecord['definition']['concurrency'],
  { active, queued }: Pick<LaneRecord, 'active' | 'queued'>,
  maxQueued: number,
): Admission {
  if (concurrency === 'allow') return active - 1 < maxQueued ? 'due' : 'queue_full';
  if (active + queued === 0) return 'due';
  if (concurrency === 'skip') return 'concurrency';
  return queued < maxQueued ? 'behind' : 'queue_full';
}

/** Returns whether a run waits for earlier runs of its automation. */
export const isBehind = ({ status, dueAt }: AutomationRunRecord): boolean => status === 'queued' && dueAt === undefined;

/** The end of a run, as its lane records it. */
interface LaneEnding {
  readonly status: RunState;
  /** RFC 3339. */
  readonly at: string;
}

/**
 * Removes an ending run from its lane, and makes the next one due if no other run is active. Returns the lane as the
 * unit of work leaves it. Dry runs are not counted in lanes.
 */
export async function leaveLane(
  { runs, lanes }: LaneParts,
  work: UnitOfWork,
  run: AutomationRunRecord,
  { status, at }: LaneEnding,
): Promise<LaneRecord | undefined> {
  if (run.dryRun) return undefined;
  const lane = await work.get(lanes, run.automationId);
  if (lane === undefined) return undefined;
  const failureCount = status === 'failed' ? lane.failureCount + 1 : status === 'completed' ? 0 : lane.failureCount;
  const left = isBehind(run)
    ? { active: lane.active, queued: Math.max(lane.queued - 1, 0) }
    : { active: Math.max(lane.active - 1, 0), queued: lane.queued };
  const counts = left.active === 0 && left.queued > 0 ? await promoteNext(runs, work, run, left.queued, at) : left;
  const lastRun = { id: run.id, status, at };
  return work.replace(lanes, lane, { ...lane, ...counts, failureCount, lastRun });
}

/** Makes the run that has waited longest due. Returns the new counts of the lane. */
async function promoteNext(
  runs: LaneParts['runs'],
  work: UnitOfWork,
  ended: AutomationRunRecord,
  queued: number,
  at: string,
): Promise<Pick<LaneRecord, 'active' | 'queued'>> {
  const where = { automationId: ended.automationId, status: 'queued', dueAt: { exists: false } };
  const waiting = await runs.find({ where, sort: ['seq'], limit: 2 });
  const next = waiting.find(({ id }) => id !== ended.id);
  // Each change of waiting runs writes the lane, so the commit fails if this read is outdated.
  if (next === undefined) return { active: 0, queued: 0 };
  work.replace(runs, next, { ...next, dueAt: at });
  return { active: 1, queued: queued - 1 };
}
