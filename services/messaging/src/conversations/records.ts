import type { Actor } from '@commonplace/kit/auth';
import { derivedId } from '@commonplace/kit/id';
import { DEAD_INDEX, type JobRecord, type QueueSpec } from '@commonplace/kit/jobs';
import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';

export type ConversationType = 'direct' | 'group' | 'channel';
export type Role = 'owner' | 'manager' | 'member';
export type NotifyLevel = 'all' | 'mentions' | 'none';
export type WhoMay = 'all' | 'managers';

/** The place of a conversation. */
export interface Place {
  readonly tenant: string;
  /** Empty for a Personal workspace. */
  readonly orgId: string;
  /** Absent for a conversation of a whole Org. */
  readonly workspaceId?: string | undefined;
}

/** The properties of a conversation. Messages do not change its version; they change the head. */
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
  /** The number of active members, agents included. */
  readonly memberCount: number;
  /** The two people of a direct conversation. */
  readonly pair?: readonly string[] | undefined;
  readonly createdBy: Actor;
  /** The person for whom a key or an agent created it; absent in records of earlier versions. */
  readonly createdForId?: string | undefined;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** Who or what made the last change; absent if that was an earlier version. */
  readonly updatedBy?: Actor | undefined;
}

export const conversationCollection: CollectionSpec<ConversationRecord> = {
  name: 'conversations',
  indexes: [{ fields: ['tenant'] }, { fields: ['workspaceId', 'type'] }, { fields: ['orgId', 'type'] }],
};

/**
 * The sequence state of a conversation, under the same id. Every message, deletion and removal writes it, so that these
 * are totally ordered.
 */
export interface HeadRecord extends StoredRecord {
  readonly tenant: string;
  /** Number of the latest message; 0 before the first one. Numbers are never reused. */
  readonly lastSeq: number;
  /** Number of the oldest message that retention has not removed. */
  readonly firstSeq: number;
  readonly lastMessageId?: string | undefined;
  readonly lastMessageAt: string;
  /** Number of the latest message that no member counts as unread because it is deleted or a system message. */
  readonly lastUncountedSeq: number;
  /** Number of the latest message that mentions people. */
  readonly lastMentionSeq: number;
  /** Number of deleted messages that retention has not removed. */
  readonly deletedCount: number;
  /** Increases with each deletion and each removal by retention, so that a count over several reads can detect them. */
  readonly epoch: number;
  /** The time of the latest mention of everyone. */
  readonly lastMentionOfAllAt?: string | undefined;
  /** A copy of the conversation's field. */
  readonly isArchived: boolean;
}

export const headCollection: CollectionSpec<HeadRecord> = {
  name: 'conversation_heads',
  indexes: [{ fields: ['tenant'] }],
};

export const ROLE_RANKS: Readonly<Record<Role, number>> = { owner: 0, manager: 1, member: 2 };

/**
 * The membership of a person or an agent, with marker and settings. A member who leaves keeps the record, which becomes
 * inactive.
 */
export interface MemberRecord extends StoredRecord {
  readonly tenant: string;
  readonly conversationId: string;
  /** The id of the person or the agent. */
  readonly principalId: string;
  readonly kind: 'user' | 'agent';
  /** The name of an agent; the names of people are looked up. */
  readonly agentName?: string | undefined;
  readonly isActive: boolean;
  readonly role: Role;
  /** The rank of the role, for sorting. */
  readonly rank: number;
  readonly joinedAt: string;
  /** The marker: the number of the latest message that the member has read. */
  readonly lastReadSeq: number;
  readonly lastReadMessageId?: string | undefined;
  /** The first message that the member can see. */
  readonly visibleFromSeq: number;
  /** Number of the latest message that the member has written. */
  readonly lastOwnSeq: number;
  /** Number of the latest message when the member hid a direct conversation; a later message shows it again. */
  readonly hiddenSeq?: number | undefined;
  readonly isMuted: boolean;
  readonly mutedUntil?: string | undefined;
  readonly notify?: NotifyLevel | undefined;
  readonly isPinned: boolean;
  readonly nickname?: string | undefined;
  /** Copies of the conversation's fields, which never change. */
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

export function memberId(conversationId: string, principalId: string): string {
  return `${conversationId}:${principalId}`;
}

/**
 * Returns the id of the direct conversation of two people in a tenant. It is derived from both ids, so that there can
 * be only one.
 */
export function directId(tenant: string, one: string, other: string): string {
  return derivedId(`direct-conversation:${tenant}:${[one, other].sort().join(':')}`);
}

/** The job that removes expired messages of a conversation. Its id is the conversation's. */
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

/** The job that starts the run of a mentioned agent. Its id is the run's. */
export interface MentionRunRecord extends JobRecord {
  readonly tenant: string;
  readonly conversationId: string;
  readonly messageId: string;
  readonly agentId: string;
  readonly agentName: string;
  /** The sender of the message and the credential used. */
  readonly userId: string;
  readonly userName: string;
  readonly credentialId: string;
  readonly scopes: readonly string[];
  /** The workspaces to which the credential is limited. */
  readonly limitedTo?: readonly string[] | undefined;
  /** Automations whose runs led to the message, oldest first. */
  readonly chain?: readonly string[] | undefined;
  /** The author of the automation that sent the message with the sender's rights. */
  readonly authorId?: string | undefined;
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

/** The job that removes the messages of a deleted conversation. Its id is the conversation's. */
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
