import type { HeldJob } from '@commonplace/kit/jobs';
import type { UnitOfWork } from '@commonplace/kit/store';
import { DAY_MS } from '../config.js';
import type { Parts } from '../parts.js';
import { addSpent, NOTHING_SPENT, type RunRecord } from '../stores/runs.js';
import { closeOpen } from './approval-writes.js';
import { deliver } from './deliver.js';
import { finishedEvent } from './events.js';
import { logEvents, type NewRunEvent } from './log.js';
import type { Outcome } from './outcome.js';
import { addToSession, messageStatusOf } from './session-answer.js';

type EndParts = Pick<Parts, 'sessions' | 'messages' | 'steps' | 'approvals' | 'runEvents' | 'deliveries' | 'settings'>;

/** Returns the fields of an ended run; the caller writes them in the unit of work that `writeEnd` fills. */
export function endedFields(
  settings: Parts['settings'],
  run: RunRecord,
  { status, output, error, message, droppedMessages, cancelReason }: Outcome,
): Partial<RunRecord> {
  const now = Date.now();
  const after = (days: number) => new Date(now + days * DAY_MS).toISOString();
  return {
    status,
    output,
    sourceIds: message.sourceIds ?? run.sourceIds,
    isPrivate: message.isPrivate ?? run.isPrivate,
    ...draftAtEnd(run, { status, message }),
    droppedMessages,
    error,
    ...(cancelReason !== undefined && { cancelReason }),
    finishedAt: new Date(now).toISOString(),
    eraseAt: after(settings.stepDays),
    deleteAt: after(settings.runDays),
    eventCount: run.eventCount + 2,
    pendingApprovalIds: undefined,
    remainingMs: undefined,
    ...(run.answersTo !== undefined && { sessionId: run.answersTo }),
  };
}

/**
 * Returns the text that a run without a session has written before it ended early, which its stream has shown. A
 * completed run has it as its output.
 */
function draftAtEnd(run: RunRecord, { status, message }: Pick<Outcome, 'status' | 'message'>): Partial<RunRecord> {
  if (status === 'completed' || run.sessionId !== undefined || run.answersTo !== undefined) {
    return { draft: undefined, draftCitations: undefined };
  }
  return { draft: message.content ?? run.draft, draftCitations: message.citations ?? run.draftCitations };
}

/**
 * Writes the end of a run to its message, its session and its log, and publishes it, in the unit of work that ends the
 * run.
 */
export async function writeEnd(parts: EndParts, work: UnitOfWork, run: RunRecord, outcome: Outcome): Promise<void> {
  const { status, error } = outcome;
  await closeOpen(parts, work, run, outcome);
  const message = await work.get(parts.messages, run.messageId);
  if (message !== undefined) {
    work.replace(parts.messages, message, {
      ...message,
      ...outcome.message,
      status: messageStatusOf(status),
      error,
      model: run.model,
      spent: run.spent,
    });
  }
  const session = run.sessionId === undefined ? undefined : await work.get(parts.sessions, run.sessionId);
  if (session !== undefined) {
    const now = new Date().toISOString();
    work.replace(parts.sessions, session, {
      ...session,
      ...(session.activeRunId === run.id ? { activeRunId: undefined, awaitsApproval: undefined } : {}),
      spent: addSpent(session.spent, run.spent ?? NOTHING_SPENT),
      lastMessageAt: now,
      updatedAt: now,
    });
  }
  await addToSession(parts, work, run, outcome);
  const events: NewRunEvent[] = [
    { type: 'message.completed', data: { messageId: run.messageId } },
    { type: `run.${status}`, data: {} },
  ];
  logEvents(parts, work, run, events);
  deliver(parts, work, run, outcome);
  work.publish(finishedEvent(run, outcome));
}

/** Ends a run that its worker holds. A run that was canceled in the meantime ends as canceled instead of completed. */
export async function endRun(parts: Parts, job: HeldJob<RunRecord>, outcome: Outcome): Promise<void> {
  const actual = (run: RunRecord): Outcome =>
    run.status === 'canceling' && outcome.status === 'completed' ? { ...outcome, status: 'canceled' } : outcome;
  await job.finish(
    (run) => endedFields(parts.settings, run, actual(run)),
    (work, run) => writeEnd(parts, work, run, actual(run)),
  );
}
