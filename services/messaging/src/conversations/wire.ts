import { enumName, enumValue, specifiedName } from '@commonplace/platform/enums';
import { type Actor as ActorMessage, ActorType } from '@commonplace/proto/api/v1/actor.js';
import {
  type Conversation,
  type ConversationMember,
  ConversationRole,
  type ConversationSettings,
  ConversationType,
  NotifyLevel,
  WhoMay,
} from '@commonplace/proto/messaging/v1/conversation.js';
import { type Mention, MentionType, Message, type MessageAttachment } from '@commonplace/proto/messaging/v1/message.js';
import type { AccessibleResource } from '@commonplace/proto/resources/v1/index_service.js';
import { actorType } from '../domain/actors.js';
import type { Unread } from './counts.js';
import { isMutedAt } from './counts.js';
import type { MessageRecord, ReceiptRecord, StoredMention } from './message-records.js';
import type {
  ConversationRecord,
  HeadRecord,
  NotifyLevel as Level,
  MemberRecord,
  Role,
  WhoMay as Who,
} from './records.js';

/** The resources that a reader can read, by id. */
export type Readable = ReadonlyMap<string, AccessibleResource>;

const roleName = (role: Role): ConversationRole => enumValue(ConversationRole, role);
export const roleOf = (role: ConversationRole): Role | undefined => specifiedName<Role>(role, 'CONVERSATION_ROLE');
export const typeOf = (type: ConversationType): ConversationRecord['type'] =>
  enumName(type, 'CONVERSATION_TYPE') as ConversationRecord['type'];
export const levelOf = (level: NotifyLevel): Level => enumName(level, 'NOTIFY_LEVEL') as Level;
export const whoOf = (who: WhoMay): Who => enumName(who, 'WHO_MAY') as Who;

/** The parts of an answer about a conversation that are not in its record. */
interface ConversationExtras extends Unread {
  readonly head: HeadRecord;
  /** The caller's membership. */
  readonly member: MemberRecord | undefined;
  readonly messageCount: number;
  readonly lastMessage?: Message | undefined;
  readonly members?: readonly ConversationMember[];
  /** Epoch milliseconds. */
  readonly now: number;
}

export function conversationMessage(conversation: ConversationRecord, extras: ConversationExtras): Conversation {
  const { head, member, unreadCount, mentionCount, messageCount, lastMessage, members = [], now } = extras;
  return {
    id: conversation.id,
    type: enumValue(ConversationType, conversation.type),
    workspaceId: conversation.workspaceId,
    orgId: conversation.orgId || undefined,
    name: conversation.name,
    topic: conversation.topic,
    icon: conversation.icon,
    memberCount: conversation.memberCount,
    members: [...members],
    lastMessage,
    lastSeq: head.lastSeq,
    firstSeq: head.firstSeq,
    unreadCount,
    mentionCount,
    lastReadSeq: member?.lastReadSeq ?? 0,
    lastReadMessageId: lastReadId(head, member),
    messageCount,
    visibleFromSeq: member?.visibleFromSeq ?? 1,
    isMember: member !== undefined,
    role: member && roleName(member.role),
    settings: settingsMessage(conversation, member, now),
    isArchived: conversation.isArchived,
    createdBy: actorMessage(conversation.createdBy),
    lastMessageAt: head.lastSeq === 0 ? undefined : head.lastMessageAt,
    createdAt: conversation.createdAt,
    updatedAt: conversation.updatedAt,
    version: conversation.version,
  };
}

/** Returns the id of the message at a member's marker, unless retention has removed it. */
export function lastReadId(
  { firstSeq }: Pick<HeadRecord, 'firstSeq'>,
  member: MemberRecord | undefined,
): string | undefined {
  if (member === undefined || member.lastReadSeq < Math.max(firstSeq, member.visibleFromSeq)) return undefined;
  return member.lastReadMessageId;
}

export function settingsMessage(
  conversation: ConversationRecord,
  member: MemberRecord | undefined,
  now: number,
): ConversationSettings {
  return {
    mine: member && {
      isMuted: isMutedAt(member, now),
      mutedUntil: isMutedAt(member, now) ? member.mutedUntil : undefined,
      notify: enumValue(NotifyLevel, notifyLevel(member)),
      isPinned: member.isPinned,
      nickname: member.nickname,
    },
    shared: {
      whoCanPost: enumValue(WhoMay, conversation.whoCanPost),
      whoCanMentionAll: enumValue(WhoMay, conversation.whoCanMentionAll),
      retentionDays: conversation.retentionDays,
    },
  };
}

/**
 * Returns which messages a member is notified of. Unless the member has chosen, these are mentions in a channel and all
 * messages elsewhere.
 */
export function notifyLevel({ notify, type }: Pick<MemberRecord, 'notify' | 'type'>): Level {
  return notify ?? (type === 'channel' ? 'mentions' : 'all');
}

export function memberMessage(member: MemberRecord, names: ReadonlyMap<string, string>): ConversationMember {
  const { kind, principalId, agentName, role, joinedAt, lastReadSeq } = member;
  return {
    principal: { type: enumValue(ActorType, kind), id: principalId, name: agentName ?? names.get(principalId) ?? '' },
    role: roleName(role),
    joinedAt,
    lastReadSeq,
  };
}

function actorMessage({ type, id, name }: { type: string; id: string; name: string }): ActorMessage {
  return { type: actorType(type), id, name };
}

const NOTHING = Message.fromPartial({});

/** Converts a message for a reader. Attachments that the reader cannot read are hidden. */
export function messageMessage(message: MessageRecord, readable: Readable, readerId: string): Message {
  const { id, conversationId, seq, version, deletedAt } = message;
  const about = { ...NOTHING, id, conversationId, seq, version };
  if (deletedAt !== undefined) {
    return { ...about, isDeleted: true, deletedAt, threadReplyCount: message.threadReplyCount };
  }
  return {
    ...about,
    author: actorMessage(message.author),
    text: message.text,
    attachments: message.resourceIds.map((resourceId) => attachmentMessage(resourceId, readable.get(resourceId))),
    mentions: message.mentions.map(mentionMessage),
    replyToId: message.replyToId,
    threadId: message.threadId,
    threadReplyCount: message.threadReplyCount,
    reactions: message.reactions.map(({ emoji, users }) => ({
      emoji,
      count: users.length,
      me: users.includes(readerId),
    })),
    clientMessageId: message.author.id === readerId ? message.clientMessageId : undefined,
    runId: message.runId,
    editedAt: message.editedAt,
    createdAt: message.createdAt,
  };
}

/** Returns a deleted message with what the receipt keeps of it, after retention has removed the message. */
export function removedMessage({ conversationId, messageId, seq, createdAt }: ReceiptRecord): Message {
  return { ...NOTHING, id: messageId, conversationId, seq, isDeleted: true, createdAt, version: 0 };
}

function attachmentMessage(resourceId: string, resource: AccessibleResource | undefined): MessageAttachment {
  if (resource === undefined) {
    return { resourceId, hidden: true, name: undefined, type: undefined, workspaceId: undefined, icon: undefined };
  }
  const { name, type, workspaceId, icon } = resource;
  return { resourceId, hidden: false, name, type, workspaceId, icon };
}

function mentionMessage({ type, id, name }: StoredMention): Mention {
  return { type: enumValue(MentionType, type), id: id || undefined, name: name || undefined };
}
