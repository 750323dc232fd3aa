import { invalidField, LimitReached } from '@commonplace/kit/errors';
import { newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import { createBreathe } from '@commonplace/kit/slices';
import { findEach, type UnitOfWork, type Where } from '@commonplace/kit/store';
import { agentForRun } from '../agents/use.js';
import { DEFAULT_TITLE, titleFields, titleOf } from '../domain/chat-title.js';
import { ReplyInProgress } from '../errors.js';
import type { Parts } from '../parts.js';
import { readableAmong } from '../readable.js';
import { cancelRun } from '../runs/cancel.js';
import { makeRoom } from '../runs/session-room.js';
import { type RunDraft, startRun } from '../runs/start.js';
import type { RunInput, RunRecord } from '../stores/runs.js';
import type { MessageRecord, SessionRecord } from '../stores/sessions.js';
import type { GivenMessage } from './content.js';

/** A session as this unit of work leaves it, with the messages and the run that the call adds. */
export interface Turn {
  readonly session: SessionRecord;
  readonly added: readonly MessageRecord[];
  readonly run?: RunRecord;
}

/**
 * Throws `limit_reached` unless a session has room for new messages. For some it is made: see `makeRoom`, also about
 * `replaced`.
 */
export async function requireRoom(
  parts: Parts,
  session: SessionRecord,
  added: number,
  { work }: Pick<CallContext, 'work'>,
  replaced: readonly MessageRecord[] = [],
): Promise<void> {
  if (await makeRoom(parts, session, added, work, replaced)) return;
  throw LimitReached({ limit: parts.settings.chatMessages, what: 'messages in one chat session' });
}

/** Adds messages to a session, which must have room for them; lets other requests run in between. */
export async function addMessages(
  parts: Parts,
  session: SessionRecord,
  given: readonly GivenMessage[],
  isImported: boolean,
  { work, signal }: CallContext,
): Promise<Turn> {
  const now = new Date().toISOString();
  const breathe = createBreathe(signal);
  const added: MessageRecord[] = [];
  for (const [i, { role, content, resourceIds }] of given.entries()) {
    const message = work.insert(parts.messages, {
      ...{ id: newId(), tenant: session.tenant, sessionId: session.id, seq: session.lastSeq + 1 + i, role, content },
      ...{ citations: [], sourceIds: resourceIds, status: 'complete', degraded: false, isImported, createdAt: now },
    });
    added.push(message);
    await breathe();
  }
  const question = added.find(({ role }) => role === 'user')?.content;
  const isFirst = !session.isTitleGiven && session.title === DEFAULT_TITLE && question !== undefined;
  return {
    added,
    session: {
      ...session,
      ...titleFields(isFirst ? titleOf(question) : session.title),
      lastSeq: session.lastSeq + added.length,
      messageCount: session.messageCount + added.length,
      lastMessageAt: added.length > 0 ? now : session.lastMessageAt,
    },
  };
}

interface ReplyOptions {
  /** The id of the run; a new one if absent. */
  readonly runId?: string | undefined;
  /** What the request says about this run; the session decides where it is absent. */
  readonly asked?: AskedRun | undefined;
}

/** What a request may say about a run in a session. */
export type AskedRun = Pick<
  RunDraft,
  'policy' | 'model' | 'outputSchema' | 'maxSteps' | 'maxMicros' | 'metadata' | 'retryOf' | 'inputTaints'
> & { readonly resourceIds: readonly string[] } & Partial<Pick<RunInput, 'attachments' | 'parameters'>>;

/** Starts the reply to a question, which must be the last message of the session. The session must have room for it. */
export async function respond(
  parts: Parts,
  { session, added }: Turn,
  question: Pick<MessageRecord, 'content' | 'sourceIds'>,
  context: CallContext,
  { runId, asked }: ReplyOptions = {},
): Promise<Turn> {
  const { attachments = [], parameters = {} } = asked ?? {};
  const { tenant, orgId, workspaceId, agentId, model, resourceIds, search } = session;
  // Each turn checks where the agent acts and whether the person may use it.
  const use = agentId === undefined ? undefined : await agentForRun(parts, agentId, workspaceId, context);
  // The resources may have been named with another credential, which reaches more than this one.
  const named = [...new Set([...resourceIds, ...question.sourceIds, ...(asked?.resourceIds ?? [])])];
  const readable = await readableAmong(parts, named, context);
  const { run, message } = await startRun(
    parts,
    {
      ...asked,
      id: runId,
      place: { tenant, orgId, workspaceId },
      source: 'chat',
      input: { text: question.content, attachments, parameters },
      resourceIds: named.filter((id) => readable.has(id)),
      searches: search,
      agent: use?.agent,
      model: asked?.model ?? model,
      session,
    },
    context,
  );
  return {
    run,
    added: message === undefined ? added : [...added, message],
    session: {
      ...session,
      activeRunId: run.id,
      lastSeq: session.lastSeq + 1,
      messageCount: session.messageCount + 1,
      lastMessageAt: run.createdAt,
    },
  };
}

/**
 * Cancels the reply in progress, if any, and keeps the text written so far. Returns the session as this unit of work
 * leaves it, which the caller has to write. The commit fails if the stored session differs from the given one.
 */
export async function interrupt(parts: Parts, session: SessionRecord, context: CallContext): Promise<SessionRecord> {
  const { activeRunId } = session;
  const run = activeRunId === undefined ? undefined : await context.work.get(parts.runs, activeRunId);
  if (run === undefined) return { ...session, activeRunId: undefined };
  // The end of the run is written to the stored session, which may be newer than the one that this call has read.
  context.work.expect(parts.sessions, session);
  await cancelRun(parts, run, 'interrupted', context);
  const after = (await context.work.get(parts.sessions, session.id)) ?? session;
  return { ...after, activeRunId: undefined, awaitsApproval: undefined };
}

/** Throws `reply_in_progress`, with the approvals that the reply waits for. */
export async function requireIdle(
  { runs }: Pick<Parts, 'runs'>,
  { activeRunId }: SessionRecord,
  { work }: Pick<CallContext, 'work'>,
): Promise<void> {
  if (activeRunId === undefined) return;
  const { pendingApprovalIds = [] } = (await work.get(runs, activeRunId)) ?? {};
  throw ReplyInProgress({ run_id: activeRunId, pending_approval_ids: [...pendingApprovalIds] });
}

/**
 * Marks the messages after a question as superseded by the run that answers it again. `seq` is the number of the
 * question or of a reply to it. Returns the question and the marked messages.
 */
export async function supersede(
  parts: Parts,
  session: SessionRecord,
  seq: number,
  runId: string,
  { work }: CallContext,
): Promise<{ readonly question: MessageRecord; readonly replaced: readonly MessageRecord[] }> {
  const named = await lastMessage(parts, session.id, { seq });
  const question = await lastMessage(parts, session.id, { seq: { lte: seq }, role: 'user' });
  if (named === undefined || question === undefined) {
    throw invalidField('regenerate_from_seq', 'invalid_value', 'is the number of neither a question nor a reply.');
  }
  return { question, replaced: await supersedeAll(parts, session.id, question.seq, runId, work) };
}

/**
 * Marks the current messages of a session after a number as superseded by a run; by none if its id is empty. Returns them
 * as they are then.
 */
export async function supersedeAll(
  { messages }: Pick<Parts, 'messages'>,
  sessionId: string,
  after: number,
  runId: string,
  work: UnitOfWork,
): Promise<MessageRecord[]> {
  const replaced: MessageRecord[] = [];
  const query = { where: { ...currentIn(sessionId), seq: { gt: after } }, sort: ['seq'] } as const;
  const breathe = createBreathe();
  for await (const message of findEach(messages, query, CHUNK)) {
    replaced.push(work.replace(messages, message, { ...message, supersededBy: runId }));
    await breathe();
  }
  return replaced;
}

/** Number of messages that one query reads; other requests run in between. */
const CHUNK = 50;

/** Returns the last message of a session that is not superseded and meets a condition, if there is one. */
export async function lastMessage(
  { messages }: Pick<Parts, 'messages'>,
  sessionId: string,
  condition: Where<MessageRecord> = {},
): Promise<MessageRecord | undefined> {
  const where = { ...currentIn(sessionId), ...condition };
  const [last] = await messages.find({ where, sort: ['-seq'], limit: 1 });
  return last;
}

const currentIn = (sessionId: string) => ({ sessionId, supersededBy: { exists: false } }) as const;
