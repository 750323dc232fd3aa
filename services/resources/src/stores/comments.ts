import type { Actor } from '@commonplace/kit/auth';
import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';

/** A passage of a document as it was when it was commented on. */
export interface Anchor {
  readonly quote: string;
  readonly prefix?: string;
  readonly suffix?: string;
  readonly blockId?: string;
}

export interface Reaction {
  readonly emoji: string;
  /** Ids of people. */
  readonly users: readonly string[];
}

/** A comment on a document; the first one of a thread gives the thread its id. */
export interface Comment extends StoredRecord {
  readonly tenant: string;
  readonly resourceId: string;
  readonly threadId: string;
  /** When the thread was begun; threads stand in this order. */
  readonly threadAt: string;
  /** The thread's first comment; absent in that one. */
  readonly parentId?: string;
  /** Markdown; absent where the comment is deleted and its replies are not. */
  readonly body?: string;
  readonly anchor?: Anchor;
  /** The thread's, as are the next two. */
  readonly status: 'open' | 'resolved';
  readonly resolvedBy?: Actor | undefined;
  readonly resolvedAt?: string | undefined;
  readonly author: Actor;
  /** The person behind the author. */
  readonly authorId: string;
  /** Ids of people who could read the document when they were mentioned. */
  readonly mentions: readonly string[];
  readonly reactions: readonly Reaction[];
  readonly editedAt?: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly updatedBy: Actor;
}

export const commentCollection: CollectionSpec<Comment> = {
  name: 'comments',
  indexes: [
    { fields: ['resourceId', 'threadAt', 'threadId', 'createdAt'] },
    { fields: ['resourceId', 'status', 'threadAt', 'threadId', 'createdAt'] },
    { fields: ['threadId', 'createdAt'] },
  ],
};

/** The order of comments in a list. */
export const COMMENT_ORDER = ['threadAt', 'threadId', 'createdAt'] as const;
/** That of one thread's. */
export const THREAD_ORDER = ['createdAt'] as const;

/**
 * What all comments of a thread have in common, under its id. Whoever adds to the thread, settles it
 * or takes its first comment away writes it, so that no two of them miss each other.
 */
export interface Thread extends StoredRecord {
  readonly tenant: string;
  readonly resourceId: string;
  readonly replies: number;
  readonly status: Comment['status'];
  readonly resolvedBy?: Actor | undefined;
  readonly resolvedAt?: string | undefined;
}

export const threadCollection: CollectionSpec<Thread> = { name: 'threads', indexes: [{ fields: ['resourceId'] }] };
