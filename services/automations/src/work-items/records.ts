import type { Actor } from '@commonplace/kit/auth';
import { DEAD_INDEX, type JobRecord, type QueueSpec } from '@commonplace/kit/jobs';
import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';

export const STATUSES = ['backlog', 'todo', 'in_progress', 'in_review', 'done', 'canceled'] as const;
export type ItemStatus = (typeof STATUSES)[number];

/** The priorities in ascending order. */
export const PRIORITIES = ['none', 'low', 'medium', 'high', 'urgent'] as const;
export type ItemPriority = (typeof PRIORITIES)[number];

/** Returns whether a work item is neither done nor canceled. */
export const isOpen = (status: ItemStatus): boolean => status !== 'done' && status !== 'canceled';

export interface StoredAssignee {
  readonly type: 'user' | 'agent';
  readonly id: string;
  readonly name: string;
}

/** The writer of a text who is not a person with at least the role commenter in the workspace. */
export interface TextTaint {
  readonly type: 'agent' | 'guest';
  readonly id: string;
  readonly name: string;
}

/** A task in a workspace, with the fields for lookups and sorting. */
export interface WorkItemRecord extends StoredRecord {
  /** The id of the Org, or of the workspace for a Personal tenant. */
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
  /** `user:<id>` or `agent:<id>`; empty without assignee. */
  readonly assigneeKey: string;
  /** Number of changes of the assignee. Each assignment, identified by this number, starts at most one run. */
  readonly assignment: number;
  /** The number of the assignment that started a run last. */
  readonly startedAssignment?: number | undefined;
  readonly labels: readonly string[];
  /** The search terms of words and labels, see `search.ts`. */
  readonly terms: readonly string[];
  readonly parentId?: string | undefined;
  /** The id of the parent, or of the workspace for an item without parent. */
  readonly parentKey: string;
  readonly position: string;
  readonly resourceIds: readonly string[];
  readonly estimate?: number | undefined;
  readonly startAt?: string | undefined;
  readonly dueAt?: string | undefined;
  /**
   * `dueAt` for sorting upwards and downwards. Without `dueAt` they sort after and before all times, so that undated
   * items come last in both orders.
   */
  readonly dueKey: string;
  readonly dueKeyDown: string;
  readonly completedAt?: string | undefined;
  readonly externalId?: string | undefined;
  /** The person who created it, also if an agent or a key acted for them. */
  readonly creatorId: string;
  readonly createdBy: Actor;
  readonly updatedBy: Actor;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** Sorts after every RFC 3339 time. */
export const NEVER = '~';

/**
 * Filter fields that follow the sort field in each index, so that the index decides filters without reading the
 * records.
 */
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
 * The number of children of a work item, whose id it has. Units of work increment the numbers without reading them, so
 * that many can add children to one parent concurrently; its version stays 1.
 */
export interface ChildCountRecord extends StoredRecord {
  readonly tenant: string;
  readonly workspaceId: string;
  readonly children: number;
  /** Number of children that are neither done nor canceled. */
  readonly open: number;
  /** For an item without parent: number of times that something was added or moved below it, at any depth. */
  readonly growth: number;
}

export const childCountCollection: CollectionSpec<ChildCountRecord> = {
  name: 'work_item_child_counts',
  indexes: [{ fields: ['tenant'] }, { fields: ['workspaceId'] }],
};

/** The last allocated number of a workspace, whose id it has. */
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
  /** The name of the field in the API. */
  readonly field: string;
  readonly from?: unknown;
  readonly to?: unknown;
}

type ActivityType = 'created' | 'updated' | 'run_started' | 'run_refused' | 'run_finished';

export interface ActivityRecord extends StoredRecord {
  readonly tenant: string;
  readonly workspaceId: string;
  readonly itemId: string;
  readonly type: ActivityType;
  readonly actor: Actor;
  readonly at: string;
  readonly changes: readonly StoredChange[];
  readonly runId?: string | undefined;
  /** Why no run was started, or the final status of a run. */
  readonly reason?: string | undefined;
}

export const activityCollection: CollectionSpec<ActivityRecord> = {
  name: 'work_item_activities',
  indexes: [{ fields: ['itemId', 'at'] }, { fields: ['tenant'] }, { fields: ['workspaceId'] }],
};

/** A run for a work item. Its id is the run's. */
export interface RunLinkRecord extends StoredRecord {
  readonly tenant: string;
  readonly workspaceId: string;
  readonly itemId: string;
  readonly agentId: string;
  /** The person whose rights the run has. */
  readonly initiatorId: string;
  readonly createdAt: string;
  readonly finishedAt?: string | undefined;
}

export const runLinkCollection: CollectionSpec<RunLinkRecord> = {
  name: 'work_item_runs',
  indexes: [{ fields: ['itemId', 'createdAt'] }, { fields: ['tenant'] }, { fields: ['workspaceId'] }],
};

/** The job that starts a run for an assignment. Its id is the run's, so that the run is started once. */
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
  /** The workspaces to which the credential is limited. */
  readonly limitedTo?: readonly string[] | undefined;
  /** The author of the automation that assigned the item with the person's rights. */
  readonly authorId?: string | undefined;
  /** The automations and agents that led to this run, oldest first, without this agent. */
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

/** The job that removes what deleted work items leave: activities, runs and descendants. */
export interface ItemRemovalRecord extends JobRecord {
  readonly tenant: string;
  readonly workspaceId: string;
  /** The ids of items to clean up; the last one is handled next. */
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
