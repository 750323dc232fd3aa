import { AppError, type Fault, invalidField, invalidFields, NotFound } from '@commonplace/kit/errors';
import { newId } from '@commonplace/kit/id';
import { type CallContext, type Handlers, requireVersion } from '@commonplace/kit/rpc';
import { createBreathe } from '@commonplace/kit/slices';
import { findPage, replaceChanged, type Where } from '@commonplace/kit/store';
import { namesByValue } from '@commonplace/platform/enums';
import { WorkspaceRequired } from '@commonplace/platform/memberships';
import { type ChatMessage, type ChatSession, ChatVisibility } from '@commonplace/proto/agents/v1/chat_session.js';
import {
  ChatInclude,
  ChatOrder,
  type ChatSessionService,
  type GetChatSessionRequest,
  type UpdateChatSessionRequest,
} from '@commonplace/proto/agents/v1/chat_session_service.js';
import { agentIn } from '../agents/use.js';
import { DEFAULT_TITLE, titleFields } from '../domain/chat-title.js';
import type { Parts } from '../parts.js';
import { choosePlace, keepsAnswers, openSession, requireUnarchived, seeSession } from '../policy.js';
import { type Readable, readableAmong } from '../readable.js';
import { warnOfDropped } from '../runs/dropped-messages.js';
import { NO_EVENT, watchRun } from '../runs/watch.js';
import { readMessages } from '../sessions/content.js';
import { listSessions } from '../sessions/list.js';
import { beginRemoval } from '../sessions/removal.js';
import { firstTurn, replacedTurn, requireQuestion, updatedTurn } from '../sessions/requests.js';
import { interrupt, requireIdle, type Turn } from '../sessions/turn.js';
import { NOTHING_SPENT } from '../stores/runs.js';
import type { MessageRecord, SessionRecord } from '../stores/sessions.js';
import { ASKER, chatMessage, type MessageReader, resourcesOf, sessionMessage } from '../wire/sessions.js';

export function createSessionHandlers(parts: Parts): Handlers<ChatSessionService> {
  const defaultModel = () => parts.models.default.info.id;

  /** Returns the answer to a write to a session, with the messages that were added. */
  async function answer(session: SessionRecord, { added, run }: Omit<Turn, 'session'>, context: CallContext) {
    warnOfModel(parts, run !== undefined, context);
    const messages = await presentMessages(parts, added, ASKER, context);
    return sessionMessage(session, defaultModel(), { messages, runId: run?.id });
  }

  return {
    async listChatSessions(request, context) {
      const { items, page } = await listSessions(parts, request, context);
      const readable = await readableInContexts(parts, items, context);
      const present = (session: SessionRecord) =>
        sessionMessage(session, defaultModel(), { readable: isOwn(session, context) ? undefined : readable });
      return { items: items.map(present), page };
    },

    async createChatSession(request, context) {
      const { context: about, respond: responds } = request;
      const faults: Fault[] = [];
      const given = await readMessages(request.messages, 'messages', faults);
      if (faults.length > 0) throw invalidFields(faults);
      requireQuestion(responds, given);
      requireModel(parts, request.model);
      const place = await choosePlace(parts, request, context);
      await requireAgent(parts, request.agentId, place, context);
      const now = new Date().toISOString();
      const session: Omit<SessionRecord, 'version'> = {
        ...{ id: newId(), ...place, ownerId: context.caller.userId },
        ...{ createdBy: context.actor, updatedBy: context.actor },
        ...{ ...titleFields(request.title ?? DEFAULT_TITLE), isTitleGiven: request.title !== undefined },
        ...{
          agentId: request.agentId || undefined,
          model: request.model,
          resourceIds: await readableOf(parts, about?.resourceIds ?? [], context),
        },
        ...{
          search: about?.search ?? true,
          visibility: visibilityOf(request.visibility) ?? 'private',
          isArchived: false,
        },
        ...{ lastSeq: 0, messageCount: 0, spent: NOTHING_SPENT, lastMessageAt: now, createdAt: now, updatedAt: now },
      };
      const turn = await firstTurn(parts, { ...session, version: 0 }, responds, given, context);
      const created = context.work.insert(parts.sessions, withoutVersion(turn.session));
      return answer(created, turn, context);
    },

    async getChatSession(request, context) {
      const session = await seeSession(parts, request.sessionId, context);
      return presentWithMessages(parts, session, request, context);
    },

    async *watchChatSession({ sessionId, lastEventId }, context) {
      const { activeRunId } = await seeSession(parts, sessionId, context);
      if (activeRunId === undefined) {
        yield { ...NO_EVENT, id: '0', idle: { sessionId } };
        return;
      }
      yield* watchRun(parts, activeRunId, lastEventId, context);
    },

    async updateChatSession(request, context) {
      requireChange(request);
      const faults: Fault[] = [];
      const given = await readMessages(request.appendMessages, 'append_messages', faults);
      if (faults.length > 0) throw invalidFields(faults);
      requireModel(parts, request.model);
      const before = await openSession(parts, request.sessionId, context);
      await requireAgent(parts, request.agentId, before, context);
      requireVersion(context, before.version, before);
      // A reply can be stopped in an archived workspace, too.
      if (request.interrupt !== true || changesSession(request)) await requireUnarchived(parts, before, context);
      const adds = given.length > 0 || request.respond === true || request.regenerateFromSeq !== undefined;
      const idle = request.interrupt === true ? await interrupt(parts, before, context) : before;
      if (adds) await requireIdle(parts, idle, context);
      const session = await changed(parts, idle, request, context);
      const turn = await updatedTurn(parts, session, request, given, context);
      const after = { ...turn.session, ...changedNow(context) };
      return answer(replaceChanged(context.work, parts.sessions, idle, after), turn, context);
    },

    async replaceChatSession(request, context) {
      const faults: Fault[] = [];
      const given = request.messages && (await readMessages(request.messages.items, 'messages', faults));
      if (faults.length > 0) throw invalidFields(faults);
      requireModel(parts, request.model);
      const before = await openSession(parts, request.sessionId, context);
      await requireAgent(parts, request.agentId, before, context);
      requireVersion(context, before.version, before);
      requireSamePlace(before, request);
      await requireUnarchived(parts, before, context);
      await requireIdle(parts, before, context);
      const { model: _, agentId: __, ...kept } = before;
      const replaced: SessionRecord = {
        ...kept,
        ...{
          ...titleFields(request.title),
          isTitleGiven: true,
          isArchived: request.isArchived,
          search: request.context?.search ?? true,
        },
        ...{ visibility: visibilityOf(request.visibility) ?? 'private', ...changedNow(context) },
        resourceIds: await readableOf(parts, request.context?.resourceIds ?? [], context),
        ...(request.model !== undefined && { model: request.model }),
        ...(request.agentId && { agentId: request.agentId }),
      };
      const turn = await replacedTurn(parts, replaced, request.respond, given, context);
      return answer(context.work.replace(parts.sessions, before, turn.session), turn, context);
    },

    async deleteChatSession({ sessionId }, context) {
      const session = await openSession(parts, sessionId, context);
      requireVersion(context, session.version, session);
      await requireUnarchived(parts, session, context);
      context.work.remove(parts.sessions, await interrupt(parts, session, context));
      beginRemoval(parts, session, context);
      return { id: sessionId, deleted: true };
    },
  };
}

/** Returns who changes a session, and when. */
const changedNow = ({ actor }: CallContext) => ({ updatedBy: actor, updatedAt: new Date().toISOString() });

// ---- checks of requests

function requireChange(request: UpdateChatSessionRequest): void {
  if (request.interrupt !== undefined || changesSession(request)) return;
  throw new AppError('INVALID_ARGUMENT', 'no_update_field', 'The request contains no field to change.');
}

/** Returns whether a request does anything else than stop the reply. */
function changesSession(request: UpdateChatSessionRequest): boolean {
  const { sessionId: _, interrupt: __, updateMask = [], appendMessages, visibility, ...rest } = request;
  return (
    updateMask.some((path) => path !== 'interrupt') ||
    appendMessages.length > 0 ||
    visibility !== ChatVisibility.UNSPECIFIED ||
    Object.values(rest).some((value) => value !== undefined)
  );
}

/**
 * Throws unless a session in a workspace may be with an agent. An absent or empty id means the built-in assistant.
 */
async function requireAgent(
  parts: Parts,
  agentId: string | undefined,
  { workspaceId }: Pick<SessionRecord, 'workspaceId'>,
  context: CallContext,
): Promise<void> {
  if (!agentId) return;
  if (workspaceId === undefined) throw WorkspaceRequired({}, { param: 'agent_id' });
  await agentIn(parts, agentId, workspaceId, context);
}

function requireModel({ models }: Parts, model: string | undefined): void {
  if (model) models.get(model);
}

function requireSamePlace(
  session: SessionRecord,
  request: { workspaceId?: string | undefined; orgId?: string | undefined },
): void {
  for (const [param, value, own] of [
    ['workspace_id', request.workspaceId, session.workspaceId],
    ['org_id', request.orgId, session.orgId || undefined],
  ] as const) {
    if (value !== undefined && value !== own) throw invalidField(param, 'invalid_value', 'cannot change.');
  }
}

const VISIBILITIES: Partial<Record<ChatVisibility, SessionRecord['visibility']>> = namesByValue(ChatVisibility);

const visibilityOf = (visibility: ChatVisibility) => VISIBILITIES[visibility];

async function changed(
  parts: Parts,
  before: SessionRecord,
  request: UpdateChatSessionRequest,
  context: CallContext,
): Promise<SessionRecord> {
  const { title, isArchived, context: about, model, agentId, updateMask = [] } = request;
  const isCleared = (path: string, value: string | undefined) => !value && updateMask.includes(path);
  const visibility = visibilityOf(request.visibility);
  return {
    ...before,
    ...(title !== undefined && { ...titleFields(title), isTitleGiven: true }),
    ...(model && { model }),
    ...(isCleared('model', model) && { model: undefined }),
    ...(agentId && { agentId }),
    ...(isCleared('agent_id', agentId) && { agentId: undefined }),
    ...(isArchived !== undefined && { isArchived }),
    ...(visibility !== undefined && { visibility }),
    ...(updateMask.includes('context.resource_ids') && {
      resourceIds: await readableOf(parts, about?.resourceIds ?? [], context),
    }),
    ...(about?.search !== undefined && { search: about.search }),
  };
}

/** Returns the ids of resources without duplicates. Throws unless the caller can read all of them. */
async function readableOf(parts: Parts, ids: readonly string[], context: CallContext): Promise<string[]> {
  const unique = [...new Set(ids)];
  if (unique.length === 0) return [];
  const readable = await readableAmong(parts, unique, context);
  const at = unique.findIndex((id) => !readable.has(id));
  if (at >= 0) throw NotFound({}, { param: `context.resource_ids[${at}]` });
  return unique;
}

/** Adds a warning if a reply will be composed without a language model. */
function warnOfModel({ models }: Parts, responds: boolean, { reply }: CallContext): void {
  if (!responds || models.isConfigured) return;
  const message = 'No language model is configured: the reply quotes passages that were found.';
  reply.warnings = [...(reply.warnings ?? []), { code: 'no_model_configured', message }];
}

function withoutVersion({ version: _, ...session }: SessionRecord): Omit<SessionRecord, 'version'> {
  return session;
}

// ---- reading

const isOwn = ({ ownerId }: SessionRecord, { caller }: CallContext): boolean => ownerId === caller.userId;

/** Returns which resources the caller can read of those that the owners of shared sessions have named as their context. */
async function readableInContexts(
  parts: Parts,
  sessions: readonly SessionRecord[],
  context: CallContext,
): Promise<Readable> {
  const shared = sessions.filter((session) => !isOwn(session, context));
  return readableAmong(parts, [...new Set(shared.flatMap(({ resourceIds }) => resourceIds))], context);
}

/** Converts messages for a reader; lets other requests run in between, as a history may have thousands. */
async function presentMessages(
  parts: Parts,
  messages: readonly MessageRecord[],
  reader: MessageReader,
  context: CallContext,
): Promise<ChatMessage[]> {
  const readable = await readableAmong(parts, resourcesOf(messages), context);
  const breathe = createBreathe();
  const presented: ChatMessage[] = [];
  for (const message of messages) {
    presented.push(chatMessage(message, readable, reader));
    await breathe();
  }
  return presented;
}

async function presentWithMessages(
  parts: Parts,
  session: SessionRecord,
  { page: request, beforeSeq, afterSeq, order, include }: GetChatSessionRequest,
  context: CallContext,
): Promise<ChatSession> {
  if (beforeSeq !== undefined && afterSeq !== undefined) {
    throw invalidField('after_seq', 'ambiguous_target', 'must not be combined with before_seq.');
  }
  const where: Where<MessageRecord> = {
    sessionId: session.id,
    ...(beforeSeq !== undefined && { seq: { lt: beforeSeq } }),
    ...(afterSeq !== undefined && { seq: { gt: afterSeq } }),
    ...(include.includes(ChatInclude.SUPERSEDED) ? {} : { supersededBy: { exists: false } }),
  };
  const isAscending = order === ChatOrder.ASC || (order === ChatOrder.UNSPECIFIED && afterSeq !== undefined);
  const { items, page } = await findPage(parts.messages, where, [isAscending ? 'seq' : '-seq'], request);
  const reader = {
    isAsker: isOwn(session, context),
    keepsAnswers: await keepsAnswers(parts, session.ownerId, session.workspaceId, context),
  };
  const messages = await presentMessages(parts, items, reader, context);
  const replies = messages.filter(({ runId }) => runId !== undefined).sort((a, b) => a.seq - b.seq);
  warnOfDropped(replies.at(-1)?.droppedMessages, context);
  return sessionMessage(session, parts.models.default.info.id, {
    ...{ messages, page },
    readable: reader.isAsker ? undefined : await readableInContexts(parts, [session], context),
  });
}
