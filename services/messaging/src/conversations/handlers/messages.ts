import type { Caller } from '@commonplace/kit/auth';
import { InsufficientRole, NotFound } from '@commonplace/kit/errors';
import { derivedId, newId } from '@commonplace/kit/id';
import { type CallContext, type Handlers, requireVersion } from '@commonplace/kit/rpc';
import type { Message } from '@commonplace/proto/messaging/v1/message.js';
import type { MessageService, SendMessageRequest } from '@commonplace/proto/messaging/v1/message_service.js';
import { ClientMessageIdReused, MemberUnavailable, MessageDeleted } from '../../errors.js';
import { requireContent, requireMentionOfAllDue, resolveAttachments, resolveMentions } from '../compose.js';
import { editMessage, requireOwn } from '../edit.js';
import { listMessages } from '../history.js';
import { firstRunOf, startMentioned, untilStarted } from '../mention-runs.js';
import type { Author, MessageRecord } from '../message-records.js';
import type { ConversationParts } from '../parts.js';
import {
  belongsTo,
  hasRole,
  type MemberAccess,
  openConversation,
  requireOpen,
  requireUnarchivedWorkspace,
} from '../policy.js';
import { presentMessage } from '../present.js';
import { deleteMessage } from '../remove-messages.js';
import { appendMessage, contentFingerprint } from '../send.js';
import { removedMessage } from '../wire.js';

type Starts = Parameters<typeof untilStarted>[0];

/** Creates the handlers of messages. `starts` is the queue that starts the runs of mentioned agents. */
export function createMessageHandlers(parts: ConversationParts, starts: Starts): Handlers<MessageService> {
  return {
    async listMessages(request, context) {
      const access = await openConversation(parts, request.conversationId, 'member', context);
      return listMessages(parts, request, access, context);
    },

    async sendMessage(request, context) {
      const access = await openConversation(parts, request.conversationId, 'member', context);
      const text = request.text ?? '';
      requireContent(
        text,
        request.attachments.map(({ resourceId }) => resourceId),
      );
      const known = await sentBefore(parts, request, text, context);
      if (known !== undefined) return known;
      requireOpen(access);
      requireMayPost(access);
      await requirePartner(parts, access, context);
      const mentions = await resolveMentions(parts, request.mentions, access, context);
      const resourceIds = await resolveAttachments(parts, request.attachments, context);
      const replyTo = await repliedTo(parts, request.replyToId, access);
      const latest = await nextInTurn(parts, access, context);
      requireMentionOfAllDue(parts, mentions, latest);
      const { caller } = context;
      const id = newId();
      const author = authorOf(caller);
      // An agent's message does not start runs of other agents.
      const startsRuns = author.type !== 'agent';
      const marksRead = request.markRead ?? (author.type === 'user' && caller.credential.type !== 'api_key');
      const isOwn = author.type === 'user' || marksRead;
      // Makes the commit fail if the person leaves the conversation at the same time.
      if (!isOwn) context.work.expect(parts.members, latest.member);
      const destination = { ...latest, member: isOwn ? latest.member : undefined };
      const sent = await appendMessage(parts, context.work, context.event.bind(context), destination, {
        ...{ id, author, text, resourceIds, mentions, replyTo, marksRead },
        runId: startsRuns ? firstRunOf(id, mentions) : undefined,
        clientMessageId: request.clientMessageId,
        receiptId: receiptIdOf(request, context),
      });
      const message = await presentMessage(parts, sent, context);
      const started = startsRuns ? startMentioned(parts, sent, context) : [];
      if (started.length > 0) {
        context.answerAfterCommit(async () => {
          await untilStarted(starts, started);
          return message;
        });
      }
      return message;
    },

    async updateMessage(request, context) {
      const access = await openConversation(parts, request.conversationId, 'member', context);
      const message = await openMessage(parts, request, access, context);
      requireOwn(request, message, context);
      requireVersion(context, message.version, lastChangeOf(message));
      requireOpen(access);
      if (message.deletedAt !== undefined) throw MessageDeleted();
      return presentMessage(parts, await editMessage(parts, request, access, message, context), context);
    },

    async deleteMessage(request, context) {
      const access = await openConversation(parts, request.conversationId, 'member', context);
      const message = await openMessage(parts, request, access, context);
      const isOwn = message.author.type === 'user' && message.authorId === context.caller.userId;
      if (!isOwn && !hasRole(access.member, 'manager')) throw InsufficientRole();
      requireVersion(context, message.version, lastChangeOf(message));
      requireUnarchivedWorkspace(access);
      if (message.deletedAt === undefined) {
        const at = new Date(parts.now()).toISOString();
        const deletion = { at, by: context.actor };
        await deleteMessage(parts, context.work, context.event.bind(context), access, message, deletion);
      }
      return { id: message.id, deleted: true };
    },
  };
}

/** Returns who has changed a message last, and when. */
function lastChangeOf({ author, createdAt, editedAt, updatedBy, updatedAt }: MessageRecord) {
  return { updatedBy: updatedBy ?? author, updatedAt: updatedAt ?? editedAt ?? createdAt };
}

/** Returns the author of a caller's message: the agent or the automation if one acts, otherwise the person. */
function authorOf({ userId, userName, agent, automation }: Caller): Author {
  if (agent !== undefined) return { type: 'agent', id: agent.id, name: agent.name };
  if (automation !== undefined) return { type: 'automation', ...automation };
  return { type: 'user', id: userId, name: userName };
}

/**
 * Waits until earlier calls of this process that write to the conversation have ended, and returns the head and the
 * member as they are then.
 */
async function nextInTurn(
  { heads, members }: ConversationParts,
  access: MemberAccess,
  context: CallContext,
): Promise<MemberAccess> {
  await context.inTurn(heads.spec.name, access.head.id);
  const head = await context.work.get(heads, access.head.id);
  const member = await context.work.get(members, access.member.id);
  if (head === undefined || !member?.isActive) throw NotFound();
  return { ...access, head, member };
}

function receiptIdOf({ conversationId, clientMessageId }: SendMessageRequest, { caller }: CallContext) {
  if (clientMessageId === undefined) return undefined;
  return derivedId(`client-message:${conversationId}:${authorOf(caller).id}:${clientMessageId}`);
}

/**
 * Returns the message that the caller has sent before with the same `client_message_id`. Throws
 * `idempotency_key_reused` if its content was different.
 */
async function sentBefore(
  parts: ConversationParts,
  request: SendMessageRequest,
  text: string,
  context: CallContext,
): Promise<Message | undefined> {
  const receiptId = receiptIdOf(request, context);
  const receipt = receiptId === undefined ? undefined : await context.work.get(parts.receipts, receiptId);
  if (receipt === undefined) return undefined;
  const resourceIds = [...new Set(request.attachments.map(({ resourceId }) => resourceId))];
  if (receipt.fingerprint !== contentFingerprint({ text, resourceIds })) throw ClientMessageIdReused();
  context.reply.status = 200;
  const message = await parts.messages.get(receipt.messageId);
  return message === undefined ? removedMessage(receipt) : presentMessage(parts, message, context);
}

function requireMayPost({ conversation, member }: MemberAccess): void {
  if (conversation.whoCanPost === 'all' || hasRole(member, 'manager')) return;
  throw InsufficientRole({}, { message: 'Only managers post in this conversation.' });
}

/** Throws unless the other person of a direct conversation still belongs to its workspace or Org. */
async function requirePartner(
  { memberships }: ConversationParts,
  { conversation }: MemberAccess,
  { caller, onward }: CallContext,
): Promise<void> {
  const partner = conversation.pair?.find((id) => id !== caller.userId);
  if (partner === undefined || belongsTo(await memberships.of(partner, onward), conversation)) return;
  if (!belongsTo(await memberships.fresh(partner, onward), conversation)) throw MemberUnavailable();
}

/** Returns the message that a new message replies to. Throws NotFound unless the member can see it. */
async function repliedTo(
  { messages }: ConversationParts,
  id: string | undefined,
  { conversation, member }: MemberAccess,
): Promise<MessageRecord | undefined> {
  if (id === undefined) return undefined;
  const found = await messages.get(id);
  if (found?.conversationId === conversation.id && found.seq >= member.visibleFromSeq) return found;
  throw NotFound({}, { param: 'reply_to_id' });
}

async function openMessage(
  { messages }: ConversationParts,
  { conversationId, messageId }: { readonly conversationId: string; readonly messageId: string },
  { member }: MemberAccess,
  { work }: CallContext,
): Promise<MessageRecord> {
  const message = await work.get(messages, messageId);
  if (message?.conversationId !== conversationId || message.seq < member.visibleFromSeq) throw NotFound();
  return message;
}
