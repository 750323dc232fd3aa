import type { DomainEvent } from '@commonplace/kit/events';
import type { ConversationRead, ConversationUpdated, MessageChanged } from '@commonplace/proto/messaging/v1/events.js';
import type { MessageRecord } from './message-records.js';
import type { ConversationRecord, MemberRecord } from './records.js';

/** Creates an event. A call provides it as `context.event`, background work as `systemEvent`. */
export type MakeEvent = (type: string, subject: string, data: Record<string, unknown>, tenant?: string) => DomainEvent;

/** Maximum length of a text in an event, in bytes of UTF-8. */
const MAX_TEXT_BYTES = 4096;

/** The fields of a message event that do not follow from the message. */
interface MessageNews {
  readonly changedFields?: readonly string[];
  readonly mentionedUserIds?: readonly string[];
  readonly mentionsAll?: boolean;
}

export function messageEvent(
  make: MakeEvent,
  verb: 'created' | 'updated' | 'deleted',
  { orgId, workspaceId }: Pick<ConversationRecord, 'orgId' | 'workspaceId'>,
  message: MessageRecord,
  { changedFields = [], mentionedUserIds = [], mentionsAll = false }: MessageNews = {},
): DomainEvent {
  const text = cut(message.text);
  const data: MessageChanged = {
    conversationId: message.conversationId,
    messageId: message.id,
    seq: message.seq,
    author: { ...message.author },
    text,
    textIsCut: text.length < message.text.length,
    changedFields: [...changedFields],
    threadId: message.threadId,
    mentionedUserIds: [...mentionedUserIds],
    mentionsAll,
    runId: message.runId,
    workspaceId: workspaceId ?? '',
    orgId,
    createdAt: message.createdAt,
    version: message.version,
  };
  return make(`message.${verb}`, message.conversationId, { ...data }, message.tenant);
}

export function conversationEvent(
  make: MakeEvent,
  { id, orgId, workspaceId, version, tenant }: ConversationRecord,
  changedFields: readonly string[],
  userIds: readonly string[] = [],
): DomainEvent {
  const data: ConversationUpdated = {
    conversationId: id,
    changedFields: [...changedFields],
    userIds: [...userIds],
    workspaceId: workspaceId ?? '',
    orgId,
    version,
  };
  return make('conversation.updated', id, { ...data }, tenant);
}

export function readEvent(make: MakeEvent, member: MemberRecord, settingsChanged = false): DomainEvent {
  const { conversationId, principalId, lastReadSeq, workspaceId, orgId, tenant } = member;
  const data: ConversationRead = {
    conversationId,
    userId: principalId,
    lastReadSeq,
    settingsChanged,
    workspaceId: workspaceId ?? '',
    orgId,
  };
  return make('conversation.read', conversationId, { ...data }, tenant);
}

/** Returns the longest beginning of a text that fits into an event, without splitting a character. */
function cut(text: string): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= MAX_TEXT_BYTES) return text;
  let end = MAX_TEXT_BYTES;
  while (((bytes[end] as number) & 0b1100_0000) === 0b1000_0000) end--;
  return bytes.subarray(0, end).toString('utf8');
}
