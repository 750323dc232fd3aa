import type { Actor } from '@commonplace/kit/auth';
import { DEAD_INDEX, type JobRecord, type QueueSpec } from '@commonplace/kit/jobs';
import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';

export const STATUSES = ['backlog', 'todo', 'in_progress', 'in_review', 'done', 'canceled'] as const;
export type ItemStatus = (typeof STATUSES)[number];

/** From the least to the greatest. */
export const PRIORITIES = ['none', 'low', 'medium', 'high', 'urgent'] as const;
export type ItemPriority = (typeof PRIORITIES)[number];

/** Whether a work item is still to be done. */
export const isOpen = (status: ItemStatus): boolean => status !== 'done' && status !== 'canceled';

export interface StoredAssignee {
  readonly type: 'user' | 'agent';
  readonly id: string;
  readonly name: string;
}

/** Who has written a text without being a person of the workspace with at least the role commenter. */
export interface TextTaint {
  readonly type: 'agent' | 'guest';
  readonly id: string;
  readonly name: string;
}

/** A task of a workspace, with all that it is found and sorted by. */
export interface WorkItemRecord extends StoredRecord {
  /** The Org, or the workspace of a Personal tenant. */
  readonly tenant: string;
  /** Empty for a Personal tenant. */
  readonly orgId: string;
  readonly workspaceId: string;
  readonly number: number;
  /** `<workspace>:<number>`. */
  readonly numberKey: string;
  readonly title: string;
  readonly description: string;
  readonly titleTaint?: TextTaint | undefined;
  readonly descriptionTaint?: TextTaint | undefined;
  readonly status: ItemStatus;
  readonly priority: ItemPriority;
  /** Index of the priority in `PRIORITIES`. */
  readonly rank: number;
  readonly assignee?: StoredAssignee | undefined;
  /** `user:<id>` or `agent:<id>`; empty if it is assigned to nobody. */
  readonly assigneeKey: string;
  /** How often the assignee has changed: a run is started once for each of these numbers. */
  readonly assignment: number;
  /** The assignment for which a run was started. */
  readonly startedAssignment?: number | undefined;
  readonly labels: readonly string[];
  /** Words and labels, see `search.ts`. */
  readonly terms: readonly string[];
  readonly parentId?: string | undefined;
  /** The parent, or the workspace at the top. */
  readonly parentKey: string;
  readonly position: string;
  readonly resourceIds: readonly string[];
  readonly estimate?: number | undefined;
  readonly startAt?: string | undefined;
  readonly dueAt?: string | undefined;
  /** `dueAt`; what sorts after and before all times where it is absent, so that undated ones come last in both orders. */
  readonly dueKey: string;
  readonly dueKeyDown: string;
  readonly completedAt?: string | undefined;
  readonly externalId?: string | undefined;
  /** The person, whatever their credential. */
  readonly creatorId: string;
  readonly createdBy: Actor;
  readonly updatedBy: Actor;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** Sorts after every RFC 3339 time. */
export const NEVER = '~';

/** Fields that filters compare, behind those of an order: they are decided without reading the records. */
const FILTERED = ['id', 'status', 'rank', 'assigneeKey', 'parentKey', 'dueKey'] as const;
const ORDERS = ['createdAt', 'updatedAt', 'dueKey', 'dueKeyDown', 'rank', 'number', 'position'] as const;

export const workItemCollection: CollectionSpec<WorkItemRecord> = {
  name: 'work_items',
  indexes: [
    ...ORDERS.map((order) => ({
      fields: ['workspaceId', order, ...FILTERED.filter((field) => field !== order)] as const,
    })),
    { fields: ['parentKey', 'position'] },
    { fields: ['numberKey'], unique: true },
    { fields: ['terms'], many: true },
    { fields: ['tenant'] },
  ],
};

/**
 * How many work items are below another one; `id` is that of the parent. Units change the numbers without reading them, so
 * that many can add to one parent at once; its version stays 1.
 */
export interface ChildCountRecord extends StoredRecord {
  readonly tenant: string;
  readonly workspaceId: string;
  readonly children: number;
  /** Children that are neither done nor canceled. */
  readonly open: number;
  /** Of one at the top: how often something has come to stand anywhere below it. */
  readonly growth: number;
}

export const childCountCollection: CollectionSpec<ChildCountRecord> = {
  name: 'work_item_child_counts',
  indexes: [{ fields: ['tenant'] }, { fields: ['workspaceId'] }],
};

/** The last number that was given in a workspace, whose id it has. */
export interface LastNumberRecord extends StoredRecord {
  readonly tenant: string;
  readonly workspaceId: string;
  readonly last: number;
}

export const lastNumberCollection: CollectionSpec<LastNumberRecord> = {
  name: 'work_item_numbers',
  indexes: [{ fields: ['tenant'] }, { fields: ['workspaceId'] }],
};

export interface StoredChange {
  /** Name of the field in the API. */
  readonly field: string;
  readonly from?: unknown;
  readonly to?: unknown;
}

export type ActivityType = 'created' | 'updated' | 'run_started' | 'run_refused' | 'run_finished';

export interface ActivityRecord extends StoredRecord {
  readonly tenant: string;
  readonly workspaceId: string;
  readonly itemId: string;
  readonly type: ActivityType;
  readonly actor: Actor;
  readonly at: string;
  readonly changes: readonly StoredChange[];
  readonly runId?: string | undefined;
  /** Why no run was started, or how one has ended. */
  readonly reason?: string | undefined;
}

export const activityCollection: CollectionSpec<ActivityRecord> = {
  name: 'work_item_activities',
  indexes: [{ fields: ['itemId', 'at'] }, { fields: ['tenant'] }, { fields: ['workspaceId'] }],
};

/** A run for a work item; `id` is that of the run. */
export interface RunLinkRecord extends StoredRecord {
  readonly tenant: string;
  readonly workspaceId: string;
  readonly itemId: string;
  readonly agentId: string;
  /** The person with whose rights it runs. */
  readonly initiatorId: string;
  readonly createdAt: string;
  readonly finishedAt?: string | undefined;
}

export const runLinkCollection: CollectionSpec<RunLinkRecord> = {
  name: 'work_item_runs',
  indexes: [{ fields: ['itemId', 'createdAt'] }, { fields: ['tenant'] }, { fields: ['workspaceId'] }],
};

/** A run that an assignment is to start; `id` is that of the run, so that it is started once. */
export interface RunStartRecord extends JobRecord {
  readonly tenant: string;
  readonly workspaceId: string;
  readonly itemId: string;
  readonly assignment: number;
  readonly agentId: string;
  readonly agentName: string;
  readonly userId: string;
  readonly userName: string;
  readonly credentialId: string;
  readonly scopes: readonly string[];
  /** Automations, and agents started by work items, that led to this, oldest first and without this agent. */
  readonly chain: readonly string[];
  readonly dueAt?: string | undefined;
}

export const runStartCollection: CollectionSpec<RunStartRecord> = {
  name: 'work_item_run_starts',
  indexes: [
    { fields: ['dueAt'], sparse: true },
    DEAD_INDEX,
    { fields: ['itemId'] },
    { fields: ['tenant'] },
    { fields: ['workspaceId'] },
  ],
};

export const runStartQueue: QueueSpec<RunStartRecord> = {
  name: 'automations.work_item_runs',
  collection: runStartCollection,
  due: 'dueAt',
  describe: ({ agentName, itemId }) => `start a run of the agent ${agentName} for the work item ${itemId}`,
};

/** Work items that were deleted, whose traces and descendants are still to be removed. */
export interface ItemRemovalRecord extends JobRecord {
  readonly tenant: string;
  readonly workspaceId: string;
  /** Those that are left; the last one comes next. */
  readonly itemIds: readonly string[];
  readonly deletedBy: Actor;
  readonly dueAt?: string | undefined;
}

export const itemRemovalCollection: CollectionSpec<ItemRemovalRecord> = {
  name: 'work_item_removals',
  indexes: [{ fields: ['dueAt'], sparse: true }, DEAD_INDEX, { fields: ['tenant'] }, { fields: ['workspaceId'] }],
};

export const itemRemovalQueue: QueueSpec<ItemRemovalRecord> = {
  name: 'automations.work_item_removals',
  collection: itemRemovalCollection,
  due: 'dueAt',
  describe: ({ itemIds, workspaceId }) => `remove ${itemIds.length} work items of the workspace ${workspaceId}`,
  keptBecause: () => 'what is left of the work items would stay forever',
};
