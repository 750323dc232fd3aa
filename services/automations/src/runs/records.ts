import type { Actor } from '@commonplace/kit/auth';
import { DEAD_INDEX, type JobRecord, type QueueSpec } from '@commonplace/kit/jobs';
import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import type { ActionType, ActsAs, TriggerType } from '../definitions/records.js';

export const LIVE_STATES = ['queued', 'running', 'waiting'] as const;
export type RunState = (typeof LIVE_STATES)[number] | 'completed' | 'failed' | 'canceled' | 'skipped';

export type SkipReason = 'conditions_not_met' | 'inactive' | 'queue_full' | 'concurrency' | 'target_gone' | 'loop';

/** Why a run or an action has failed. */
export interface RunFailure {
  readonly code: string;
  readonly message: string;
  readonly actionId?: string | undefined;
  readonly retryable: boolean;
}

/** Untrusted content that a run was given. */
export interface Taint {
  readonly type: 'webhook' | 'form' | 'agent' | 'guest' | 'import';
  readonly id: string;
  readonly name: string;
}

/** What has started a run. */
export interface StoredRunTrigger {
  readonly type: TriggerType;
  readonly eventId?: string | undefined;
  readonly by: Actor;
  readonly scheduleId?: string | undefined;
  readonly scheduledFor?: string | undefined;
}

export interface AutomationRunRecord extends JobRecord {
  readonly tenant: string;
  readonly orgId: string;
  readonly workspaceId: string;
  readonly automationId: string;
  readonly automationName: string;
  readonly definitionVersion: number;
  /** Order of the triggers of one automation. */
  readonly seq: number;
  readonly status: RunState;
  /** When a worker takes it up, or its lease ends. Absent while it waits for runs before it. */
  readonly dueAt?: string | undefined;
  readonly trigger: StoredRunTrigger;
  readonly actsAs: ActsAs;
  /**
   * `trigger` of its templates as it was known when it was triggered: `input`, `event`, `webhook`, `form`. What `resource`,
   * `row` and `message` are is read when it starts. Absent once it has been erased.
   */
  readonly input?: Readonly<Record<string, unknown>> | undefined;
  /** `resource`, `row`, `message` and such of its templates, as they were when it started. Absent before, and once erased. */
  readonly data?: Readonly<Record<string, unknown>> | undefined;
  readonly taints: readonly Taint[];
  /** Automations whose runs led to this one, oldest first, without its own. */
  readonly chain: readonly string[];
  readonly dryRun: boolean;
  readonly retryOf?: string | undefined;
  /** The key of the action that it repeats, where the earlier attempt may have taken effect. */
  readonly keptKey?: { readonly actionId: string; readonly key: string } | undefined;
  /** Index of the action that comes next. */
  readonly position: number;
  readonly stepCount: number;
  readonly error?: RunFailure | undefined;
  readonly skipReason?: SkipReason | undefined;
  readonly cancelRequested?: boolean | undefined;
  readonly cancelReason?: string | undefined;
  /** When it ends at the latest, while its clock runs. */
  readonly endsBy?: string | undefined;
  /** Milliseconds of its time limit that are left, while its clock is stopped or has to be read by `clock`. */
  readonly remainingMs?: number | undefined;
  /** Of a run that waits for an agent: since when, and whether the agent was seen to wait for an approval then. */
  readonly clock?: { readonly since: string; readonly isStopped: boolean } | undefined;
  readonly createdAt: string;
  readonly startedAt?: string | undefined;
  readonly finishedAt?: string | undefined;
  readonly deleteAt?: string | undefined;
}

export const runCollection: CollectionSpec<AutomationRunRecord> = {
  name: 'automation_runs',
  indexes: [
    { fields: ['automationId', 'createdAt'] },
    { fields: ['automationId', 'status', 'seq'] },
    { fields: ['automationId', 'status', 'createdAt'] },
    { fields: ['tenant'] },
    { fields: ['dueAt'] },
    { fields: ['deleteAt'] },
    DEAD_INDEX,
  ],
  expires: 'deleteAt',
};

export const runQueue: QueueSpec<AutomationRunRecord> = {
  name: 'automations.runs',
  collection: runCollection,
  due: 'dueAt',
  waiting: { field: 'status', values: LIVE_STATES },
  describe: ({ tenant, automationName }) => `run of the automation ${automationName} in ${tenant}`,
  keptBecause: () => 'the runs behind it wait for it',
};

export type StepState =
  | ('running' | 'waiting' | 'completed' | 'failed')
  | ('skipped' | 'canceled' | 'unknown' | 'planned');

/** One action of a run; `id` is `<run>:<seq>`. */
export interface StepRecord extends StoredRecord {
  readonly tenant: string;
  readonly runId: string;
  readonly seq: number;
  readonly actionId: string;
  readonly type: ActionType;
  readonly status: StepState;
  /** How often it has begun. */
  readonly attempt: number;
  /** Attempts that have failed. */
  readonly failures: number;
  /** The idempotency key of what it changes, the same for each attempt. */
  readonly key: string;
  readonly input?: unknown;
  readonly output?: unknown;
  readonly truncated: boolean;
  readonly error?: RunFailure | undefined;
  readonly startedAt: string;
  readonly durationMs?: number | undefined;
  readonly resumesAt?: string | undefined;
  readonly agentRunId?: string | undefined;
  readonly deleteAt?: string | undefined;
}

export const stepCollection: CollectionSpec<StepRecord> = {
  name: 'automation_steps',
  indexes: [
    { fields: ['runId', 'seq'] },
    { fields: ['agentRunId'], sparse: true },
    { fields: ['tenant'] },
    { fields: ['deleteAt'] },
  ],
  expires: 'deleteAt',
};

export const stepId = (runId: string, seq: number): string => `${runId}:${seq}`;

/**
 * What the runs of one automation share; `id` is that of the automation. Every unit that creates or ends a run writes it,
 * so that runs are numbered and begin in the order of their triggers.
 */
export interface LaneRecord extends StoredRecord {
  readonly tenant: string;
  readonly lastSeq: number;
  /** Runs that go on, and runs that wait for them. */
  readonly active: number;
  readonly queued: number;
  /** Runs that wait and are numbered up to this one are skipped: the automation was switched off or deleted. */
  readonly skipTo?: number | undefined;
  /** Runs in a row that have failed. */
  readonly failureCount: number;
  readonly lastRun?: { readonly id: string; readonly status: RunState; readonly at: string } | undefined;
}

export const laneCollection: CollectionSpec<LaneRecord> = {
  name: 'automation_lanes',
  indexes: [{ fields: ['tenant'] }, { fields: ['skipTo'], sparse: true }],
};
