import type { HeldJob } from '@commonplace/kit/jobs';
import type { UnitOfWork } from '@commonplace/kit/store';
import type { AutomationRecord } from '../definitions/records.js';
import { finishedEvent } from './finished-event.js';
import { leaveLane } from './lane.js';
import type { RunParts } from './parts.js';
import type { AutomationRunRecord, LaneRecord, RunFailure, SkipReason } from './records.js';
import { deleteAfter } from './retention.js';

/** How a run ends. */
export interface Ending {
  readonly status: 'completed' | 'failed' | 'canceled' | 'skipped';
  readonly error?: RunFailure | undefined;
  readonly skipReason?: SkipReason | undefined;
}

export type EndParts = Pick<RunParts, 'runs' | 'lanes' | 'automations' | 'settings' | 'now'>;

/** Returns the fields of a run that has ended; the caller writes them in the unit that `writeEnd` fills. */
export function endedFields({ settings, now }: Pick<RunParts, 'settings' | 'now'>, ending: Ending) {
  const at = now();
  return {
    ...ending,
    ...{ endsBy: undefined, remainingMs: undefined, clock: undefined },
    finishedAt: new Date(at).toISOString(),
    deleteAt: deleteAfter(settings, at),
  };
}

/** Writes what else changes when a run ends: its lane with the run behind it, the automation, and the event. */
export async function writeEnd(
  parts: EndParts,
  work: UnitOfWork,
  run: AutomationRunRecord,
  ending: Ending,
): Promise<void> {
  if (run.dryRun) return;
  const at = new Date(parts.now()).toISOString();
  const lane = await leaveLane(parts, work, run, { status: ending.status, at });
  const told = ending.status === 'failed' ? await countFailure(parts, work, run, lane, at) : {};
  work.publish(finishedEvent(run, { ...ending, ...told }));
}

/**
 * Switches an automation off that has failed too often in a row. Its people are told of the first failure in a row and of
 * that, not of each.
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
  const disabled = automation?.isActive === true && failures >= settings.disableAfter;
  if (automation !== undefined && disabled) {
    work.replace(automations, automation, { ...automation, isActive: false, disabledAt: at, updatedAt: at });
  }
  const isTold = failures === 1 || disabled;
  return { disabled, notifyUserIds: isTold ? ownersOf(automation, run) : [] };
}

function ownersOf(automation: AutomationRecord | undefined, { actsAs }: AutomationRunRecord): string[] {
  if (automation === undefined) return [actsAs.userId];
  const { createdBy, definition } = automation;
  return [...new Set([definition.actsAs.userId, ...(createdBy.type === 'user' ? [createdBy.id] : [])])];
}

/** Ends a run that its worker holds; `also` is written with it. A run that was canceled meanwhile is not completed. */
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

/** Ends a run that no worker holds, in a unit of its own. Returns the run as it is then. */
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
