import { invalidField } from '@commonplace/kit/errors';
import { newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import type { UpdateChatSessionRequest } from '@commonplace/proto/agents/v1/chat_session_service.js';
import type { Parts } from '../parts.js';
import type { SessionRecord } from '../stores/sessions.js';
import type { GivenMessage } from './content.js';
import { addMessages, lastMessage, requireRoom, respond, supersede, supersedeAll, type Turn } from './turn.js';

/**
 * Adds the messages of a new session, and starts the reply to the last one if the request asks for one. `messages` must
 * then end with a question.
 */
export async function firstTurn(
  parts: Parts,
  session: SessionRecord,
  responds: boolean,
  given: readonly GivenMessage[],
  context: CallContext,
): Promise<Turn> {
  await requireRoom(parts, session, given.length + (responds ? 1 : 0), context);
  return addHistory(parts, session, responds, given, context);
}

/** Adds messages to a session and starts the reply that a change asks for. */
export async function updatedTurn(
  parts: Parts,
  session: SessionRecord,
  { regenerateFromSeq, respond: responds }: UpdateChatSessionRequest,
  given: readonly GivenMessage[],
  context: CallContext,
): Promise<Turn> {
  const turn = { session, added: [] };
  if (regenerateFromSeq !== undefined && given.length > 0) {
    throw invalidField('append_messages', 'ambiguous_target', 'must not be combined with regenerate_from_seq.');
  }
  if (regenerateFromSeq !== undefined && responds === false) {
    throw invalidField('respond', 'ambiguous_target', 'respond must not be false with regenerate_from_seq.');
  }
  if (regenerateFromSeq !== undefined) return regenerate(parts, turn, regenerateFromSeq, context);
  if (responds !== true && given.length === 0) return turn;
  await requireRoom(parts, session, given.length + (responds === true ? 1 : 0), context);
  if (responds === true) return ask(parts, turn, given, 'append_messages', context);
  return addMessages(parts, session, given, false, context);
}

/**
 * Adds messages and starts the reply to the last one. Throws unless it is a question of the role user; `param` is the
 * field that names the messages.
 */
async function ask(
  parts: Parts,
  turn: Turn,
  given: readonly GivenMessage[],
  param: string,
  context: CallContext,
): Promise<Turn> {
  const next = await addMessages(parts, turn.session, given, false, context);
  const question = next.added.at(-1) ?? (await lastMessage(parts, turn.session.id));
  if (question?.role !== 'user') {
    throw invalidField(param, 'missing_field', NO_QUESTION);
  }
  return respond(parts, { ...next, added: [...turn.added, ...next.added] }, question, context);
}

const NO_QUESTION = 'must end with a question of the role user.';

async function regenerate(parts: Parts, { session }: Turn, seq: number, context: CallContext): Promise<Turn> {
  const runId = newId();
  const { question, replaced } = await supersede(parts, session, seq, runId, context);
  await requireRoom(parts, session, 1, context, replaced);
  const shorter = { ...session, messageCount: session.messageCount - replaced.length };
  return respond(parts, { session: shorter, added: [] }, question, context, { runId });
}

/**
 * Replaces the history of a session if messages are given, and starts the reply to its last message if the request asks
 * for one. New messages continue the numbers, since none is used twice.
 */
export async function replacedTurn(
  parts: Parts,
  session: SessionRecord,
  responds: boolean,
  given: readonly GivenMessage[] | undefined,
  context: CallContext,
): Promise<Turn> {
  const turn = { session, added: [] };
  if (given === undefined) {
    if (!responds) return turn;
    await requireRoom(parts, session, 1, context);
    return ask(parts, turn, [], 'messages', context);
  }
  requireQuestion(responds, given);
  const replaced = await supersedeAll(parts, session.id, 0, '', context.work);
  await requireRoom(parts, session, given.length + (responds ? 1 : 0), context, replaced);
  return addHistory(parts, { ...session, messageCount: 0 }, responds, given, context);
}

/** Throws unless messages to which a reply is asked for end with a question. */
export function requireQuestion(responds: boolean, given: readonly GivenMessage[]): void {
  if (responds && given.at(-1)?.role !== 'user') throw invalidField('messages', 'missing_field', NO_QUESTION);
}

async function addHistory(
  parts: Parts,
  session: SessionRecord,
  responds: boolean,
  given: readonly GivenMessage[],
  context: CallContext,
): Promise<Turn> {
  if (!responds) return addMessages(parts, session, given, true, context);
  // The question to be answered is written by the caller, and is not imported.
  const history = await addMessages(parts, session, given.slice(0, -1), true, context);
  return ask(parts, history, given.slice(-1), 'messages', context);
}
