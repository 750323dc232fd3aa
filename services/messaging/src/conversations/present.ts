import type { CallContext } from '@commonplace/kit/rpc';
import { createBreathe } from '@commonplace/kit/slices';
import type { Conversation, ConversationMember } from '@commonplace/proto/messaging/v1/conversation.js';
import type { Message } from '@commonplace/proto/messaging/v1/message.js';
import { allCounts, type Counts, countOnce, countSteadily } from './counts.js';
import type { MessageRecord } from './message-records.js';
import { namesOf } from './names.js';
import type { ConversationParts } from './parts.js';
import type { ConversationAccess } from './policy.js';
import { readableIn } from './readable.js';
import type { ConversationRecord, HeadRecord, MemberRecord } from './records.js';
import { conversationMessage, memberMessage, messageMessage } from './wire.js';

/** Maximum number of members that `include=members` returns. */
const MAX_MEMBERS = 200;

type PresentParts = Pick<
  ConversationParts,
  'conversations' | 'heads' | 'members' | 'messages' | 'mentions' | 'users' | 'index' | 'now'
>;

/** Returns messages with those attachments that the caller can read now. */
export async function presentMessages(
  parts: Pick<PresentParts, 'index'>,
  messages: readonly MessageRecord[],
  context: CallContext,
): Promise<Message[]> {
  const readable = await readableIn(parts, messages, context);
  return messages.map((message) => messageMessage(message, readable, context.caller.userId));
}

export async function presentMessage(
  parts: Pick<PresentParts, 'index'>,
  message: MessageRecord,
  context: CallContext,
): Promise<Message> {
  const [presented] = await presentMessages(parts, [message], context);
  return presented as Message;
}

/** Returns members with their current names. */
export async function presentMembers(
  parts: Pick<PresentParts, 'users'>,
  members: readonly MemberRecord[],
  context: CallContext,
): Promise<ConversationMember[]> {
  const people = members.filter(({ kind }) => kind === 'user').map(({ principalId }) => principalId);
  const names = await namesOf(parts, people, context);
  return members.map((member) => memberMessage(member, names));
}

/** Returns a conversation as it is within the unit of work of the call. */
export async function presentChanged(
  parts: PresentParts,
  { conversation, head, member }: Pick<ConversationAccess, 'conversation' | 'head' | 'member'>,
  context: CallContext,
): Promise<Conversation> {
  const counts = member === undefined ? NOTHING_COUNTED : await countOnce(parts, head, member, allCounts);
  const [lastMessage] = await lastMessagesOf(parts, [{ head, member }], context);
  return conversationMessage(conversation, { head, member, ...counts, lastMessage, now: parts.now() });
}

/** Returns a conversation as it is stored, with consistent counts. */
export async function presentStored(
  parts: PresentParts,
  access: ConversationAccess,
  includesMembers: boolean,
  context: CallContext,
): Promise<Conversation> {
  const { conversation, member } = access;
  const { id } = conversation;
  const members = includesMembers ? await presentMembers(parts, await firstMembers(parts, id), context) : [];
  if (member === undefined) {
    const { head } = access;
    return conversationMessage(conversation, { head, member, ...NOTHING_COUNTED, members, now: parts.now() });
  }
  const steady = (await countSteadily(parts, [member], allCounts, createBreathe())).get(id);
  const head = steady?.head ?? access.head;
  const mine = steady?.member ?? member;
  const counts = steady?.counted ?? NOTHING_COUNTED;
  const [lastMessage] = await lastMessagesOf(parts, [{ head, member: mine }], context);
  return conversationMessage(conversation, { head, member: mine, ...counts, lastMessage, members, now: parts.now() });
}

function firstMembers({ members }: PresentParts, conversationId: string): Promise<MemberRecord[]> {
  return members.find({ where: { conversationId, isActive: true }, sort: ['rank'], limit: MAX_MEMBERS });
}

/** Returns the latest message of each conversation; undefined where the member cannot see it. */
async function lastMessagesOf(
  parts: Pick<PresentParts, 'messages' | 'index'>,
  seen: readonly { readonly head: HeadRecord; readonly member: MemberRecord | undefined }[],
  context: CallContext,
): Promise<(Message | undefined)[]> {
  const ids = seen.flatMap(({ head, member }) =>
    head.lastMessageId !== undefined && member !== undefined && head.lastSeq >= member.visibleFromSeq
      ? [head.lastMessageId]
      : [],
  );
  const found = ids.length === 0 ? [] : await parts.messages.getMany(ids);
  const presented = await presentMessages(parts, found, context);
  const byId = new Map(presented.map((message) => [message.id, message]));
  return seen.map(({ head, member }) =>
    member === undefined || head.lastSeq < member.visibleFromSeq ? undefined : byId.get(head.lastMessageId ?? ''),
  );
}

/** A conversation in a list, with its counts. */
export interface ListedConversation extends Counts {
  readonly conversation: ConversationRecord;
  readonly head: HeadRecord;
  readonly member: MemberRecord | undefined;
}

/** The counts of a conversation whose reader is not a member. */
export const NOTHING_COUNTED = { unreadCount: 0, mentionCount: 0, messageCount: 0 };

/** Counts the unread and visible messages of conversations, consistently for each conversation. */
export async function countListed(
  parts: PresentParts,
  listed: readonly (Pick<ListedConversation, 'conversation' | 'head'> & { readonly member: MemberRecord })[],
): Promise<(ListedConversation & { readonly member: MemberRecord })[]> {
  const memberships = listed.map(({ member }) => member);
  const counts = await countSteadily(parts, memberships, allCounts, createBreathe());
  return listed.map(({ conversation, head, member }) => {
    const steady = counts.get(conversation.id);
    return steady === undefined
      ? { conversation, head, member, ...NOTHING_COUNTED }
      : { conversation, head: steady.head, member: steady.member, ...steady.counted };
  });
}

export async function presentListed(
  parts: PresentParts,
  listed: readonly ListedConversation[],
  context: CallContext,
): Promise<Conversation[]> {
  const last = await lastMessagesOf(parts, listed, context);
  const now = parts.now();
  return listed.map(({ conversation, head, member, ...counts }, at) =>
    conversationMessage(conversation, { head, member, ...counts, lastMessage: last[at], now }),
  );
}
