import type { Actor } from '@commonplace/kit/auth';
import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import type { Reaction } from '@commonplace/platform/reactions';

export interface Author {
  readonly type: 'user' | 'agent' | 'automation' | 'system';
  readonly id: string;
  readonly name: string;
}

export interface StoredMention {
  readonly type: 'user' | 'agent' | 'all';
  /** Empty for `all`. */
  readonly id: string;
  readonly name: string;
}

/** A message. A deleted one keeps its number and loses its content. */
export interface MessageRecord extends StoredRecord {
  readonly tenant: string;
  readonly conversationId: string;
  readonly seq: number;
  readonly author: Author;
  readonly authorId: string;
  /** Markdown. */
  readonly text: string;
  readonly resourceIds: readonly string[];
  readonly mentions: readonly StoredMention[];
  readonly replyToId?: string | undefined;
  readonly threadId?: string | undefined;
  readonly threadReplyCount: number;
  readonly reactions: readonly Reaction[];
  readonly clientMessageId?: string | undefined;
  readonly runId?: string | undefined;
  readonly createdAt: string;
  readonly editedAt?: string | undefined;
  readonly deletedAt?: string | undefined;
  /** Who changed or deleted the message last, reactions included, and when; absent in messages of earlier versions. */
  readonly updatedBy?: Actor | undefined;
  readonly updatedAt?: string | undefined;
  /** The number of the message, if no member counts it as unread because it is deleted or a system message. */
  readonly uncountedSeq?: number | undefined;
  /** The number of the message, if it is deleted. */
  readonly deletedSeq?: number | undefined;
  /** The search terms of the text, in the form that `termKey` returns. */
  readonly terms?: readonly string[] | undefined;
  /** The text folded for search, if it contains a script that does not separate words by spaces. */
  readonly folded?: string | undefined;
}

export const messageCollection: CollectionSpec<MessageRecord> = {
  name: 'messages',
  indexes: [
    { fields: ['conversationId', 'seq'] },
    { fields: ['conversationId', 'authorId', 'seq'] },
    { fields: ['conversationId', 'uncountedSeq'], sparse: true },
    { fields: ['conversationId', 'deletedSeq'], sparse: true },
    { fields: ['threadId', 'seq'], sparse: true },
    { fields: ['terms'], many: true },
    { fields: ['tenant'] },
  ],
};

/** One mention in a message. The record is removed when the message no longer contains the mention. */
export interface MentionRecord extends StoredRecord {
  readonly tenant: string;
  readonly conversationId: string;
  /** See `mentionKey`. */
  readonly key: string;
  readonly seq: number;
  readonly messageId: string;
  readonly authorId: string;
}

export const mentionCollection: CollectionSpec<MentionRecord> = {
  name: 'message_mentions',
  indexes: [
    { fields: ['key', 'seq'] },
    { fields: ['messageId'] },
    { fields: ['conversationId'] },
    { fields: ['tenant'] },
  ],
};

/** Represents everyone in the key of a mention record. */
export const EVERYBODY = '*';

/** Returns the key by which the mentions of a person in a conversation are counted. */
export function mentionKey(conversationId: string, userId: string): string {
  return `${conversationId}:${userId}`;
}

/**
 * Records which message was sent with a `client_message_id`, or by a run. The receipt is kept as long as the
 * conversation, even if retention removes the message.
 */
export interface ReceiptRecord extends StoredRecord {
  readonly tenant: string;
  readonly conversationId: string;
  readonly messageId: string;
  readonly seq: number;
  readonly createdAt: string;
  /** A hash of the content, to detect a different message under the same key. */
  readonly fingerprint: string;
}

export const receiptCollection: CollectionSpec<ReceiptRecord> = {
  name: 'message_receipts',
  indexes: [{ fields: ['conversationId'] }, { fields: ['tenant'] }],
};
