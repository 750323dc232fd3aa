import type { Actor } from '@commonplace/kit/auth';
import { derivedId } from '@commonplace/kit/id';
import { DEAD_INDEX, type JobRecord, type QueueSpec } from '@commonplace/kit/jobs';
import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';

export type ConversationType = 'direct' | 'group' | 'channel';
export type Role = 'owner' | 'manager' | 'member';
export type NotifyLevel = 'all' | 'mentions' | 'none';
export type WhoMay = 'all' | 'managers';

/** Where a conversation is. */
export interface Place {
  readonly tenant: string;
  /** Empty for a Personal workspace. */
  readonly orgId: string;
  /** Absent for a conversation of an Org as a whole. */
  readonly workspaceId?: string | undefined;
}

/** What a conversation is. Its version does not change with its messages: these are counted in its head. */
export interface ConversationRecord extends StoredRecord, Place {
  readonly tenant: string;
  readonly type: ConversationType;
  readonly name?: string | undefined;
  readonly topic?: string | undefined;
  readonly icon?: string | undefined;
  readonly isArchived: boolean;
  readonly whoCanPost: WhoMay;
  readonly whoCanMentionAll: WhoMay;
  readonly retentionDays?: number | undefined;
  /** Active members, agents included. */
  readonly memberCount: number;
  /** The two people of a direct conversation. */
  readonly pair?: readonly string[] | undefined;
  readonly createdBy: Actor;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export const conversationCollection: CollectionSpec<ConversationRecord> = {
  name: 'conversations',
  indexes: [{ fields: ['tenant'] }, { fields: ['workspaceId', 'type'] }, { fields: ['orgId', 'type'] }],
};

/**
 * The sequence of a conversation, with the same id: every message, deletion and retention writes it, which gives them one
 * order.
 */
export interface HeadRecord extends StoredRecord {
  readonly tenant: string;
  /** Number of the latest message; 0 before the first one. Numbers are never used again. */
  readonly lastSeq: number;
  /** Number of the oldest message that retention has kept. */
  readonly firstSeq: number;
  readonly lastMessageId?: string | undefined;
  readonly lastMessageAt: string;
  /** Number of the latest message that counts as unread for nobody: a deleted one, or one of the system. */
  readonly lastUncountedSeq: number;
  /** Number of the latest message that mentions anybody. */
  readonly lastMentionSeq: number;
  /** Deleted messages that retention has kept. */
  readonly deletedCount: number;
  /** Rises with each deletion and each removal by retention, so that a count over several reads can tell. */
  readonly epoch: number;
  /** When everybody was mentioned the last time. */
  readonly lastMentionOfAllAt?: string | undefined;
  /** As in the conversation. */
  readonly isArchived: boolean;
}

export const headCollection: CollectionSpec<HeadRecord> = {
  name: 'conversation_heads',
  indexes: [{ fields: ['tenant'] }],
};

export const ROLE_RANKS: Readonly<Record<Role, number>> = { owner: 0, manager: 1, member: 2 };

/** One member's marker and settings. Who has left keeps a record without being active. */
export interface MemberRecord extends StoredRecord {
  readonly tenant: string;
  readonly conversationId: string;
  /** Id of the person or the agent. */
  readonly principalId: string;
  readonly kind: 'user' | 'agent';
  /** The name of an agent; those of people are looked up. */
  readonly agentName?: string | undefined;
  readonly isActive: boolean;
  readonly role: Role;
  /** Rank of the role, for sorting. */
  readonly rank: number;
  readonly joinedAt: string;
  /** The marker. */
  readonly lastReadSeq: number;
  readonly lastReadMessageId?: string | undefined;
  /** Messages with lower numbers are not shown. */
  readonly visibleFromSeq: number;
  /** Number of the latest message that the member has written. */
  readonly lastOwnSeq: number;
  /** A direct conversation is hidden while its latest message has this number. */
  readonly hiddenSeq?: number | undefined;
  readonly isMuted: boolean;
  readonly mutedUntil?: string | undefined;
  readonly notify?: NotifyLevel | undefined;
  readonly isPinned: boolean;
  readonly nickname?: string | undefined;
  /** As in the conversation, which never changes them. */
  readonly type: ConversationType;
  readonly orgId: string;
  readonly workspaceId?: string | undefined;
}

export const memberCollection: CollectionSpec<MemberRecord> = {
  name: 'conversation_members',
  indexes: [
    { fields: ['principalId', 'isActive'] },
    { fields: ['conversationId', 'isActive', 'rank'] },
    { fields: ['conversationId', 'notify'], sparse: true },
    { fields: ['tenant', 'principalId'] },
  ],
};

/** Returns the id of a member's record. */
export function memberId(conversationId: string, principalId: string): string {
  return `${conversationId}:${principalId}`;
}

/** Returns the id of the direct conversation of two people in a tenant, so that there can only be one. */
export function directId(tenant: string, one: string, other: string): string {
  return derivedId(`direct-conversation:${tenant}:${[one, other].sort().join(':')}`);
}

/** A conversation whose messages expire. Its id is the conversation's. */
export interface RetentionRecord extends JobRecord {
  readonly tenant: string;
  readonly dueAt?: string | undefined;
}

export const retentionCollection: CollectionSpec<RetentionRecord> = {
  name: 'conversation_retentions',
  indexes: [{ fields: ['dueAt'] }, { fields: ['tenant'] }, DEAD_INDEX],
};

export const retentionQueue: QueueSpec<RetentionRecord> = {
  name: 'messaging.retention',
  collection: retentionCollection,
  due: 'dueAt',
  describe: ({ id, tenant }) => `retention of conversation ${id} in ${tenant}`,
  keptBecause: () => 'messages would stay for longer than their conversation says',
};

/** An agent that a message mentions, whose run is still to be started. Its id is the run's. */
export interface MentionRunRecord extends JobRecord {
  readonly tenant: string;
  readonly conversationId: string;
  readonly messageId: string;
  readonly agentId: string;
  readonly agentName: string;
  /** Who has sent the message, and with which credential. */
  readonly userId: string;
  readonly userName: string;
  readonly credentialId: string;
  readonly scopes: readonly string[];
  /** Automations whose runs led to the message, oldest first. */
  readonly chain?: readonly string[] | undefined;
  readonly dueAt?: string | undefined;
}

export const mentionRunCollection: CollectionSpec<MentionRunRecord> = {
  name: 'mention_runs',
  indexes: [{ fields: ['dueAt'] }, { fields: ['tenant'] }, DEAD_INDEX],
};

export const mentionRunQueue: QueueSpec<MentionRunRecord> = {
  name: 'messaging.mention_runs',
  collection: mentionRunCollection,
  due: 'dueAt',
  describe: ({ id, agentId, conversationId, tenant }) =>
    `start of run ${id} of agent ${agentId} for conversation ${conversationId} in ${tenant}`,
};

/** A deleted conversation whose messages are still to be removed. Its id is the conversation's. */
export interface RemovalRecord extends JobRecord {
  readonly tenant: string;
  readonly dueAt?: string | undefined;
}

export const removalCollection: CollectionSpec<RemovalRecord> = {
  name: 'conversation_removals',
  indexes: [{ fields: ['dueAt'] }, { fields: ['tenant'] }, DEAD_INDEX],
};

export const removalQueue: QueueSpec<RemovalRecord> = {
  name: 'messaging.conversation_removals',
  collection: removalCollection,
  due: 'dueAt',
  describe: ({ id, tenant }) => `removal of conversation ${id} in ${tenant}`,
  keptBecause: () => 'messages of a deleted conversation would stay',
};
