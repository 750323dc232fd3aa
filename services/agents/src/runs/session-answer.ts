import { newId } from '@commonplace/kit/id';
import type { UnitOfWork } from '@commonplace/kit/store';
import { DEFAULT_TITLE, titleFields, titleOf } from '../domain/chat-title.js';
import type { Parts } from '../parts.js';
import { addSpent, type RunRecord } from '../stores/runs.js';
import type { MessageRecord } from '../stores/sessions.js';
import type { Ending, Outcome } from './outcome.js';
import { makeRoom } from './session-room.js';

/** Returns the status of the message of an ended run. */
export function messageStatusOf(status: Ending): MessageRecord['status'] {
  return status === 'completed' ? 'complete' : status === 'canceled' ? 'canceled' : 'failed';
}

/**
 * Adds the question and the answer of a run to the chat session that it was started for, in the unit of work that ends
 * the run. It does not affect a reply in progress there, and does nothing if the session was deleted or is full.
 */
export async function addToSession(
  { sessions, messages, settings }: Pick<Parts, 'sessions' | 'messages' | 'settings'>,
  work: UnitOfWork,
  run: RunRecord,
  { status, error, output, message }: Outcome,
): Promise<void> {
  const session = run.answersTo === undefined ? undefined : await work.get(sessions, run.answersTo);
  if (session === undefined || session.ownerId !== run.userId) return;
  if (!(await makeRoom({ messages, settings }, session, 2, work))) return;
  const { tenant, lastSeq } = session;
  const now = new Date().toISOString();
  const { text = '', attachments = [] } = run.input ?? {};
  const common = { tenant, sessionId: session.id, isImported: false, createdAt: now };
  work.insert(messages, {
    ...{ ...common, id: newId(), seq: lastSeq + 1, role: 'user', content: text, citations: [] },
    ...{ sourceIds: attachments, status: 'complete', degraded: false },
  });
  work.insert(messages, {
    ...{ ...common, id: run.messageId, seq: lastSeq + 2, role: 'assistant', content: output?.text ?? run.draft ?? '' },
    ...{
      citations: run.draftCitations ?? [],
      sourceIds: run.sourceIds ?? [],
      degraded: false,
      ...message,
      runId: run.id,
      model: run.model,
    },
    ...{ status: messageStatusOf(status), error, spent: run.spent },
  });
  const isFirst = !session.isTitleGiven && session.title === DEFAULT_TITLE;
  work.replace(sessions, session, {
    ...session,
    ...titleFields(isFirst ? titleOf(text) : session.title),
    ...{ lastSeq: lastSeq + 2, lastMessageAt: now, updatedAt: now },
    ...{ messageCount: session.messageCount + 2, spent: addSpent(session.spent, run.spent) },
  });
}
