import type { CallContext } from '@commonplace/kit/rpc';
import type { Parts } from '../parts.js';
import { hasEnded, type RunRecord } from '../stores/runs.js';
import { endedFields, writeEnd } from './end.js';
import type { Outcome } from './outcome.js';
import { cancelTopic } from './topic.js';

/** Milliseconds after which another worker ends a cancelled run, if the one that works on it does not. */
const GRACE_MS = 6_000;

/**
 * Cancels a run in this call's unit of work: at once if no worker has taken it up, otherwise its worker is told to end it.
 * Changes nothing about a run that has ended or is being cancelled. Returns the run as it is then.
 */
export async function cancelRun(
  parts: Pick<
    Parts,
    'bus' | 'runs' | 'steps' | 'approvals' | 'sessions' | 'messages' | 'runEvents' | 'deliveries' | 'settings'
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
    return work.replace(parts.runs, run, ended);
  }
  const soon = new Date(Date.now() + GRACE_MS).toISOString();
  const dueAt = run.dueAt !== undefined && run.dueAt < soon ? run.dueAt : soon;
  context.afterCommit(() => parts.bus.broadcast(cancelTopic(run.id), ''));
  return work.replace(parts.runs, run, { ...run, status: 'canceling', cancelReason: reason, dueAt });
}
