import type { CallContext } from '@commonplace/kit/rpc';
import { releaseApprovals } from '../credits/approvals.js';
import type { Parts } from '../parts.js';
import { hasEnded, type RunRecord } from '../stores/runs.js';
import { endedFields, writeEnd } from './end.js';
import type { Outcome } from './outcome.js';
import { cancelTopic } from './topic.js';

/** Milliseconds after which another worker ends a canceled run if its own worker does not. */
const GRACE_MS = 6_000;

/**
 * Cancels a run in the unit of work of a call. A waiting run ends at once; otherwise its worker is notified to end it.
 * Does nothing if the run has ended or is being canceled. Returns the run after the change.
 */
export async function cancelRun(
  parts: Pick<
    Parts,
    | 'bus'
    | 'ledger'
    | 'runs'
    | 'steps'
    | 'approvals'
    | 'sessions'
    | 'messages'
    | 'runEvents'
    | 'deliveries'
    | 'settings'
  >,
  run: RunRecord,
  reason: string | undefined,
  context: Pick<CallContext, 'work' | 'afterCommit'>,
): Promise<RunRecord> {
  if (hasEnded(run) || run.status === 'canceling') return run;
  const { work } = context;
  if (run.status === 'queued' || run.status === 'awaiting_approval') {
    const outcome: Outcome = { status: 'canceled', output: undefined, message: {} };
    const ended = { ...run, ...endedFields(parts.settings, run, outcome), cancelReason: reason, dueAt: undefined };
    await writeEnd(parts, work, run, outcome);
    // A reservation that cannot be released expires by itself.
    context.afterCommit(() => void releaseApprovals(parts.ledger, run).catch(() => {}));
    return work.replace(parts.runs, run, ended);
  }
  const soon = new Date(Date.now() + GRACE_MS).toISOString();
  const dueAt = run.dueAt !== undefined && run.dueAt < soon ? run.dueAt : soon;
  context.afterCommit(() => parts.bus.broadcast(cancelTopic(run.id), ''));
  return work.replace(parts.runs, run, { ...run, status: 'canceling', cancelReason: reason, dueAt });
}
