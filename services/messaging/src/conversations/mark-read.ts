import { invalidField, NotFound } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import type { MarkConversationReadRequest } from '@commonplace/proto/messaging/v1/conversation_service.js';
import { readEvent } from './events.js';
import type { ConversationParts } from './parts.js';
import type { MemberAccess } from './policy.js';
import type { MemberRecord } from './records.js';

/** Moves the caller's marker as a request demands. Returns the membership after the change. */
export async function markRead(
  parts: ConversationParts,
  request: MarkConversationReadRequest,
  access: MemberAccess,
  context: CallContext,
): Promise<MemberRecord> {
  const { head, member } = access;
  const asked = await askedSeq(parts, request, access);
  if (request.markUnread && asked === undefined) {
    throw invalidField('mark_unread', 'missing_field', 'needs message_id or seq.');
  }
  const to = request.markUnread
    ? Math.min(member.lastReadSeq, Math.max(0, (asked as number) - 1))
    : Math.max(member.lastReadSeq, Math.min(asked ?? head.lastSeq, head.lastSeq));
  if (to === member.lastReadSeq) return member;
  const { lastReadMessageId: _, hiddenSeq, ...rest } = member;
  const lastReadMessageId = to === head.lastSeq ? head.lastMessageId : await messageIdAt(parts, head.id, to);
  const moved = context.work.replace(parts.members, member, {
    ...rest,
    lastReadSeq: to,
    ...(lastReadMessageId !== undefined && { lastReadMessageId }),
    // Marking a conversation as unread shows it again.
    ...(hiddenSeq !== undefined && !request.markUnread && { hiddenSeq }),
  });
  context.work.publish(readEvent(context.event.bind(context), moved));
  return moved;
}

async function askedSeq(
  { messages }: ConversationParts,
  { messageId, seq }: MarkConversationReadRequest,
  { conversation, member }: MemberAccess,
): Promise<number | undefined> {
  if (messageId === undefined) return seq;
  if (seq !== undefined) throw invalidField('seq', 'ambiguous_target', 'does not go with message_id.');
  const message = await messages.get(messageId);
  if (message?.conversationId !== conversation.id || message.seq < member.visibleFromSeq) {
    throw NotFound({}, { param: 'message_id' });
  }
  return message.seq;
}

async function messageIdAt(
  { messages }: ConversationParts,
  conversationId: string,
  seq: number,
): Promise<string | undefined> {
  const [found] = await messages.find({ where: { conversationId, seq }, limit: 1 });
  return found?.id;
}
