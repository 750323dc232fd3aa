import type { Actor } from '@commonplace/kit/auth';
import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import type { StoredCitation } from '../domain/citation.js';
import type { Failure, Spent } from './runs.js';

/** A conversation. Its messages are records of their own. */
export interface SessionRecord extends StoredRecord {
  readonly tenant: string;
  /** Empty for a Personal tenant. */
  readonly orgId: string;
  /** Absent for a session about a whole Org. */
  readonly workspaceId?: string | undefined;
  readonly ownerId: string;
  readonly createdBy: Actor;
  readonly title: string;
  /** Whether a client gave the title; otherwise it follows from the first question. */
  readonly isTitleGiven: boolean;
  readonly agentId?: string | undefined;
  /** The default model when absent. */
  readonly model?: string | undefined;
  readonly resourceIds: readonly string[];
  readonly search: boolean;
  readonly visibility: 'private' | 'workspace';
  readonly isArchived: boolean;
  readonly activeRunId?: string | undefined;
  /** Whether the reply under way waits for approvals. */
  readonly awaitsApproval?: boolean | undefined;
  /** The highest number that a message has had; numbers are never used again. */
  readonly lastSeq: number;
  /** Messages that were not superseded. */
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
    { fields: ['orgId', 'visibility', 'lastMessageAt'] },
    { fields: ['tenant'] },
  ],
};

export type Role = 'user' | 'assistant' | 'system' | 'tool';

export interface MessageRecord extends StoredRecord {
  readonly tenant: string;
  readonly sessionId: string;
  readonly seq: number;
  readonly role: Role;
  /** Markdown. While a reply is being written: what a worker has last saved of it. */
  readonly content: string;
  readonly citations: readonly StoredCitation[];
  /** Resources that the model was given for this reply, cited or not: who may not read all of them may not read it. */
  readonly sourceIds: readonly string[];
  /** Nobody but the session's owner may read it, such as what was drawn from messages of a conversation. */
  readonly isPrivate?: boolean | undefined;
  readonly runId?: string | undefined;
  readonly status: 'complete' | 'streaming' | 'failed' | 'canceled';
  readonly model?: string | undefined;
  readonly spent?: Spent | undefined;
  readonly degraded: boolean;
  readonly isImported: boolean;
  /** The run whose reply replaces it; empty if the history was replaced. */
  readonly supersededBy?: string | undefined;
  readonly error?: Failure | undefined;
  /** How many of the oldest messages its model was not given, because they did not fit. */
  readonly droppedMessages?: number | undefined;
  readonly createdAt: string;
}

export const messageCollection: CollectionSpec<MessageRecord> = {
  name: 'chat_messages',
  indexes: [{ fields: ['sessionId', 'seq'] }, { fields: ['tenant'] }],
};
