import { fingerprint, newId } from '@commonplace/kit/id';
import type { UnitOfWork } from '@commonplace/kit/store';
import { type MakeEvent, messageEvent, readEvent } from './events.js';
import {
  type Author,
  EVERYBODY,
  type MentionRecord,
  type MessageRecord,
  mentionKey,
  type ReceiptRecord,
  type StoredMention,
} from './message-records.js';
import type { ConversationParts } from './parts.js';
import type { ConversationRecord, HeadRecord, MemberRecord } from './records.js';
import { searchFields } from './search.js';

type SendParts = Pick<
  ConversationParts,
  'conversations' | 'heads' | 'members' | 'messages' | 'mentions' | 'receipts' | 'now'
>;

/** A message before it has a number. */
interface NewMessage {
  /** The id of the message; a new one if absent. */
  readonly id?: string | undefined;
  readonly author: Author;
  readonly text: string;
  readonly resourceIds: readonly string[];
  readonly mentions: readonly StoredMention[];
  readonly replyTo?: MessageRecord | undefined;
  readonly clientMessageId?: string | undefined;
  readonly runId?: string | undefined;
  /** The id of the receipt that makes a repeated request return the same message. */
  readonly receiptId?: string | undefined;
  /** Whether the author's marker moves to the message. */
  readonly marksRead: boolean;
}

/** The conversation that receives a message, as it is within the unit of work. */
interface Destination {
  readonly conversation: ConversationRecord;
  readonly head: HeadRecord;
  /** The author's membership; undefined for the system. */
  readonly member: MemberRecord | undefined;
}

/**
 * Appends a message in a unit of work: message, head, author's marker, mentions, receipt and events are one commit. Of
 * concurrent appends one commits; the others lose the race and run again with the next number.
 */
export async function appendMessage(
  parts: SendParts,
  work: UnitOfWork,
  make: MakeEvent,
  { conversation, head, member }: Destination,
  message: NewMessage,
): Promise<MessageRecord> {
  const { author, text, replyTo, mentions } = message;
  const isSystem = author.type === 'system';
  const seq = head.lastSeq + 1;
  const at = new Date(parts.now()).toISOString();
  const threadId = replyTo === undefined ? undefined : (replyTo.threadId ?? replyTo.id);
  const sent = work.insert<MessageRecord>(parts.messages, {
    id: message.id ?? newId(),
    tenant: conversation.tenant,
    conversationId: conversation.id,
    seq,
    author,
    authorId: author.id,
    text,
    resourceIds: [...message.resourceIds],
    mentions: [...mentions],
    ...(replyTo !== undefined && { replyToId: replyTo.id }),
    ...(threadId !== undefined && { threadId }),
    threadReplyCount: 0,
    reactions: [],
    ...(message.clientMessageId !== undefined && { clientMessageId: message.clientMessageId }),
    ...(message.runId !== undefined && { runId: message.runId }),
    createdAt: at,
    ...(isSystem && { uncountedSeq: seq }),
    ...searchFields(conversation.id, text),
  });
  if (threadId !== undefined) await changeReplyCount(parts, work, threadId, 1);
  addMentions(parts, work, sent, mentions);
  const mentionsAll = mentions.some(({ type }) => type === 'all');
  const mentionsPeople = mentionsAll || mentions.some(({ type }) => type === 'user');
  // Makes the commit fail if the conversation's archiving, members or posting rights change at the same time.
  work.expect(parts.conversations, conversation);
  work.replace(parts.heads, head, {
    ...head,
    lastSeq: seq,
    lastMessageId: sent.id,
    lastMessageAt: at,
    ...(isSystem && { lastUncountedSeq: seq }),
    ...(mentionsPeople && { lastMentionSeq: seq }),
    ...(mentionsAll && { lastMentionOfAllAt: at }),
  });
  const moved = member === undefined ? undefined : moveWithOwn(parts, work, member, sent, message.marksRead);
  if (message.receiptId !== undefined) work.insert(parts.receipts, receiptOf(message.receiptId, sent));
  const mentionedUserIds = mentions.filter(({ type }) => type === 'user').map(({ id }) => id);
  work.publish(messageEvent(make, 'created', conversation, sent, { mentionedUserIds, mentionsAll }));
  if (moved !== undefined && message.marksRead) work.publish(readEvent(make, moved));
  return sent;
}

function moveWithOwn(
  parts: SendParts,
  work: UnitOfWork,
  member: MemberRecord,
  { id, seq }: MessageRecord,
  marksRead: boolean,
): MemberRecord {
  const marker = marksRead ? { lastReadSeq: seq, lastReadMessageId: id } : {};
  return work.replace(parts.members, member, { ...member, ...marker, lastOwnSeq: seq });
}

/** Changes the reply count of the first message of a thread, unless retention has removed that message. */
export async function changeReplyCount(
  { messages }: Pick<SendParts, 'messages'>,
  work: UnitOfWork,
  threadId: string,
  by: number,
): Promise<void> {
  const root = await work.get(messages, threadId);
  if (root === undefined) return;
  work.replace(messages, root, { ...root, threadReplyCount: Math.max(0, root.threadReplyCount + by) });
}

/** Inserts the mention records of a message. A mention of everyone replaces all others. */
function addMentions(
  { mentions: records }: Pick<SendParts, 'mentions'>,
  work: UnitOfWork,
  message: MessageRecord,
  mentions: readonly StoredMention[],
): void {
  for (const record of mentionRecordsOf(message, mentions)) work.insert(records, record);
}

export function mentionRecordsOf(
  { id, tenant, conversationId, seq, authorId }: MessageRecord,
  mentions: readonly StoredMention[],
): Omit<MentionRecord, 'version'>[] {
  const all = mentions.some(({ type }) => type === 'all');
  const people = mentions.filter(({ type }) => type === 'user').map((mention) => mention.id);
  return (all ? [EVERYBODY] : people).map((who) => ({
    id: `${id}:${who}`,
    ...{ tenant, conversationId, key: mentionKey(conversationId, who), seq, messageId: id, authorId },
  }));
}

function receiptOf(id: string, message: MessageRecord): Omit<ReceiptRecord, 'version'> {
  const { tenant, conversationId, seq, createdAt } = message;
  return {
    id,
    ...{ tenant, conversationId, messageId: message.id, seq, createdAt, fingerprint: contentFingerprint(message) },
  };
}

/** Returns a hash of the text and the attachments of a message. */
export function contentFingerprint({ text, resourceIds }: Pick<MessageRecord, 'text' | 'resourceIds'>): string {
  return fingerprint(text, ...resourceIds);
}
