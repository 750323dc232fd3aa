import type { Collection, UnitOfWork } from '@commonplace/kit/store';
import type { AutomationRecord } from '../definitions/records.js';
import type { AutomationRunRecord, LaneRecord, RunState, SkipReason } from './records.js';

export interface LaneParts {
  readonly runs: Collection<AutomationRunRecord>;
  readonly lanes: Collection<LaneRecord>;
}

/** How a run begins: due at once, behind others, or not at all. */
export type Admission = 'due' | 'behind' | SkipReason;

/** Returns how the next run of an automation begins, by the runs that it has. */
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

/** Returns whether a run waits behind others of its automation. */
export const isBehind = ({ status, dueAt }: AutomationRunRecord): boolean => status === 'queued' && dueAt === undefined;

/** What a run leaves in its lane when it ends. */
export interface LaneEnding {
  readonly status: RunState;
  /** RFC 3339. */
  readonly at: string;
}

/**
 * Takes a run that ends out of its lane, and makes the next one due if it was the last that went on. Returns the lane as
 * the unit leaves it. A dry run has no place in the lane.
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

/** Makes the run that has waited for the longest due, and returns the counts of the lane after that. */
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
  // Each change of what waits writes the lane, so that the commit fails if this reading is out of date.
  if (next === undefined) return { active: 0, queued: 0 };
  work.replace(runs, next, { ...next, dueAt: at });
  return { active: 1, queued: queued - 1 };
}
