import { systemActor } from '@commonplace/kit/events';
import type { HeldJob } from '@commonplace/kit/jobs';
import type { UnitOfWork } from '@commonplace/kit/store';
import type { AutomationRecord } from '../definitions/records.js';
import { finishedEvent } from './finished-event.js';
import { leaveLane } from './lane.js';
import type { RunParts } from './parts.js';
import type { AutomationRunRecord, LaneRecord, RunFailure, SkipReason } from './records.js';
import { deleteAfter } from './retention.js';

/** The result of a run. */
export interface Ending {
  readonly status: 'completed' | 'failed' | 'canceled' | 'skipped';
  readonly error?: RunFailure | undefined;
  readonly skipReason?: SkipReason | undefined;
}

export type EndParts = Pick<RunParts, 'runs' | 'lanes' | 'automations' | 'settings' | 'now'>;

/** Returns the fields of an ended run; the caller writes them in the unit of work that `writeEnd` fills. */
function endedFields({ settings, now }: Pick<RunParts, 'settings' | 'now'>, ending: Ending) {
  const at = now();
  return {
    ...ending,
    ...{ endsBy: undefined, remainingMs: undefined, clock: undefined },
    finishedAt: new Date(at).toISOString(),
    deleteAt: deleteAfter(settings, at),
  };
}

/** Writes the other changes at the end of a run: its lane and the next run in it, the automation, and the event. */
async function writeEnd(parts: EndParts, work: UnitOfWork, run: AutomationRunRecord, ending: Ending): Promise<void> {
  if (run.dryRun) return;
  const at = new Date(parts.now()).toISOString();
  const lane = await leaveLane(parts, work, run, { status: ending.status, at });
  const failure = ending.status === 'failed' ? await countFailure(parts, work, run, lane, at) : {};
  work.publish(finishedEvent(run, { ...ending, ...failure }));
}

/**
 * Counts a failure, and switches the automation off after too many in a row. Its people are notified of the first
 * failure in a row and of the switch, not of every failure.
 */
async function countFailure(
  { automations, settings }: EndParts,
  work: UnitOfWork,
  run: AutomationRunRecord,
  lane: LaneRecord | undefined,
  at: string,
) {
  const automation = await work.get(automations, run.automationId);
  const failures = lane?.failureCount ?? 0;
  const disabled = automation?.isActive === true && failures >= settings.automationFailures;
  if (automation !== undefined && disabled) {
    const updated = { updatedAt: at, updatedBy: systemActor('automations') };
    work.replace(automations, automation, { ...automation, ...updated, isActive: false, disabledAt: at });
  }
  const isNotified = failures === 1 || disabled;
  return { disabled, notifyUserIds: isNotified ? ownersOf(automation, run) : [] };
}

function ownersOf(automation: AutomationRecord | undefined, { actsAs }: AutomationRunRecord): string[] {
  if (automation === undefined) return [actsAs.userId];
  const { createdBy, definition } = automation;
  return [...new Set([definition.actsAs.userId, ...(createdBy.type === 'user' ? [createdBy.id] : [])])];
}

/**
 * Ends a run that its worker holds; `also` adds writes to the commit. A run that was canceled in the meantime ends as
 * canceled instead of completed.
 */
export async function endRun(
  parts: EndParts,
  job: HeldJob<AutomationRunRecord>,
  ending: Ending,
  changes: Partial<AutomationRunRecord> = {},
  also: (work: UnitOfWork) => unknown = () => {},
): Promise<void> {
  const actual = (run: AutomationRunRecord): Ending =>
    run.cancelRequested && ending.status === 'completed' ? { status: 'canceled' } : ending;
  await job.finish(
    (run) => ({ ...changes, ...endedFields(parts, actual(run)) }),
    async (work, run) => {
      await also(work);
      await writeEnd(parts, work, run, actual(run));
    },
  );
}

/** Ends a run that no worker holds, in a given unit of work. Returns the ended run. */
export async function endIdleRun(
  parts: EndParts,
  work: UnitOfWork,
  run: AutomationRunRecord,
  ending: Ending,
  changes: Partial<AutomationRunRecord> = {},
): Promise<AutomationRunRecord> {
  await writeEnd(parts, work, run, ending);
  return work.replace(parts.runs, run, { ...run, ...changes, ...endedFields(parts, ending), dueAt: undefined });
}
