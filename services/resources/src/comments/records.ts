import type { Actor } from '@commonplace/kit/auth';
import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import type { Reaction } from '@commonplace/platform/reactions';

/** The passage of a document that a comment is about, as it was when the comment was written. */
export interface Anchor {
  readonly quote: string;
  readonly prefix?: string;
  readonly suffix?: string;
  readonly blockId?: string;
}

/** A comment on a document. The id of a thread's first comment is the id of the thread. */
export interface Comment extends StoredRecord {
  readonly tenant: string;
  readonly resourceId: string;
  readonly threadId: string;
  /** Time of the thread's first comment; threads are sorted by it. */
  readonly threadAt: string;
  /** Id of the thread's first comment; absent in that comment itself. */
  readonly parentId?: string;
  /** Markdown; absent in a deleted comment that still has replies. */
  readonly body?: string;
  readonly anchor?: Anchor;
  /** Status of the whole thread, as are `resolvedBy` and `resolvedAt`. */
  readonly status: 'open' | 'resolved';
  readonly resolvedBy?: Actor | undefined;
  readonly resolvedAt?: string | undefined;
  readonly author: Actor;
  /** Id of the person on whose behalf the author acted. */
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
/** The order of comments within one thread. */
export const THREAD_ORDER = ['createdAt'] as const;

/**
 * State that all comments of a thread share, stored under the thread's id. Every reply, status change and deletion of a
 * first comment writes this record, so that concurrent ones conflict.
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
