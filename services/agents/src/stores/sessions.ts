import type { Actor } from '@commonplace/kit/auth';
import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import type { StoredCitation } from '../domain/citation.js';
import type { Failure, Spent } from './runs.js';

/** A chat session. Its messages are separate records. */
export interface SessionRecord extends StoredRecord {
  readonly tenant: string;
  /** Empty for a Personal tenant. */
  readonly orgId: string;
  /** Absent for a session about a whole Org. */
  readonly workspaceId?: string | undefined;
  readonly ownerId: string;
  readonly createdBy: Actor;
  /** Who has changed it last; absent in records of earlier versions. */
  readonly updatedBy?: Actor | undefined;
  readonly title: string;
  /** The title, folded for sorting and searches. */
  readonly titleFold: string;
  /** Whether a client set the title; otherwise it is derived from the first question. */
  readonly isTitleGiven: boolean;
  readonly agentId?: string | undefined;
  /** The default model if absent. */
  readonly model?: string | undefined;
  readonly resourceIds: readonly string[];
  readonly search: boolean;
  readonly visibility: 'private' | 'workspace';
  readonly isArchived: boolean;
  readonly activeRunId?: string | undefined;
  /** Whether the reply in progress waits for approvals. */
  readonly awaitsApproval?: boolean | undefined;
  /** The highest number of a message so far. Numbers are never reused. */
  readonly lastSeq: number;
  /** Number of messages that are not superseded. */
  readonly messageCount: number;
  readonly spent: Spent;
  readonly lastMessageAt: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export const sessionCollection: CollectionSpec<SessionRecord> = {
  name: 'chat_sessions',
  indexes: [
    { fields: ['ownerId', 'lastMessageAt'] },
    { fields: ['workspaceId', 'visibility', 'lastMessageAt'] },
    { fields: ['orgId', 'workspaceId', 'visibility', 'lastMessageAt'] },
    { fields: ['tenant'] },
  ],
};

export type Role = 'user' | 'assistant' | 'system' | 'tool';

export interface MessageRecord extends StoredRecord {
  readonly tenant: string;
  readonly sessionId: string;
  readonly seq: number;
  readonly role: Role;
  /** Markdown. While a reply is written, the text that a worker has saved last. */
  readonly content: string;
  readonly citations: readonly StoredCitation[];
  /** The resources that the model received for this reply, cited or not. Readers must be able to read all of them. */
  readonly sourceIds: readonly string[];
  /** Whether only the session's owner may read it, as for content drawn from private messages. */
  readonly isPrivate?: boolean | undefined;
  readonly runId?: string | undefined;
  readonly status: 'complete' | 'streaming' | 'failed' | 'canceled';
  readonly model?: string | undefined;
  readonly spent?: Spent | undefined;
  readonly degraded: boolean;
  readonly isImported: boolean;
  /** The run whose reply replaces it; empty if the whole history was replaced. */
  readonly supersededBy?: string | undefined;
  readonly error?: Failure | undefined;
  /** Number of the oldest messages that did not fit into the model's context. */
  readonly droppedMessages?: number | undefined;
  readonly createdAt: string;
}

export const messageCollection: CollectionSpec<MessageRecord> = {
  name: 'chat_messages',
  indexes: [{ fields: ['sessionId', 'seq'] }, { fields: ['tenant'] }],
};
