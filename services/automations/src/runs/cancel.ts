import type { UnitOfWork } from '@commonplace/kit/store';
import { type EndParts, endIdleRun } from './end.js';
import { type AutomationRunRecord, LIVE_STATES } from './records.js';

/** The topic on which the ids of canceled runs are broadcast. */
export const CANCEL_TOPIC = 'automations.canceled-runs';

const LIVE: ReadonlySet<string> = new Set(LIVE_STATES);

export const hasEnded = ({ status }: Pick<AutomationRunRecord, 'status'>): boolean => !LIVE.has(status);

/**
 * Cancels a run in a unit of work. A queued run ends in it. Otherwise its worker ends it, at once if the caller then
 * broadcasts on `CANCEL_TOPIC`.
 */
export async function cancelRun(
  parts: EndParts,
  work: UnitOfWork,
  run: AutomationRunRecord,
  reason: string,
): Promise<AutomationRunRecord> {
  if (hasEnded(run) || run.cancelRequested) return run;
  const canceled = { cancelRequested: true, ...(reason !== '' && { cancelReason: reason }) };
  if (run.status === 'queued') return endIdleRun(parts, work, run, { status: 'canceled' }, canceled);
  const due = run.status === 'waiting' ? { dueAt: new Date(parts.now()).toISOString() } : {};
  return work.replace(parts.runs, run, { ...run, ...canceled, ...due });
}
