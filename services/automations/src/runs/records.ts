import type { Actor } from '@commonplace/kit/auth';
import { DEAD_INDEX, type JobRecord, type QueueSpec } from '@commonplace/kit/jobs';
import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import type { ActsAs } from '../acts-as.js';
import type { ActionType, TriggerType } from '../definitions/records.js';

export const LIVE_STATES = ['queued', 'running', 'waiting'] as const;
export type RunState = (typeof LIVE_STATES)[number] | 'completed' | 'failed' | 'canceled' | 'skipped';

export type SkipReason = 'conditions_not_met' | 'inactive' | 'queue_full' | 'concurrency' | 'target_gone' | 'loop';

/** The reason why a run or an action failed. */
export interface RunFailure {
  readonly code: string;
  /** May contain data of the run. */
  readonly message: string;
  /** The message without data of the run; absent if there is none, and in failures of earlier versions. */
  readonly publicMessage?: string | undefined;
  readonly actionId?: string | undefined;
  readonly retryable: boolean;
}

/** Untrusted content that a run was given. */
export interface Taint {
  readonly type: 'webhook' | 'form' | 'agent' | 'guest' | 'import';
  readonly id: string;
  readonly name: string;
}

/** The cause of a run. */
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
  /** Number of the run in the order of the automation's triggers. */
  readonly seq: number;
  readonly status: RunState;
  /** When a worker can claim it, or its lease ends. Absent while it waits for earlier runs. */
  readonly dueAt?: string | undefined;
  readonly trigger: StoredRunTrigger;
  readonly actsAs: ActsAs;
  /**
   * The part of `trigger` in templates that is known when the run is triggered: `input`, `event`, `webhook`, `form`.
   * The run reads `resource`, `row` and `message` when it starts. Absent after it was erased.
   */
  readonly input?: Readonly<Record<string, unknown>> | undefined;
  /**
   * The part of `trigger` in templates that the run read when it started, such as `resource`, `row` and `message`.
   * Absent before, and after it was erased.
   */
  readonly data?: Readonly<Record<string, unknown>> | undefined;
  readonly taints: readonly Taint[];
  /** The automations whose runs led to this one, oldest first, without its own automation. */
  readonly chain: readonly string[];
  readonly dryRun: boolean;
  readonly retryOf?: string | undefined;
  /** The idempotency key of an action of the repeated run that may have taken effect. */
  readonly keptKey?: { readonly actionId: string; readonly key: string } | undefined;
  /** Index of the next action. */
  readonly position: number;
  readonly stepCount: number;
  readonly error?: RunFailure | undefined;
  readonly skipReason?: SkipReason | undefined;
  readonly cancelRequested?: boolean | undefined;
  readonly cancelReason?: string | undefined;
  /** When the time limit ends the run, while the limit is not suspended. */
  readonly endsBy?: string | undefined;
  /** Milliseconds of the time limit that were left when the run began to wait for a delay or an agent; see `clock`. */
  readonly remainingMs?: number | undefined;
  /**
   * Set while the run waits for an agent: since when, and whether the agent was waiting for an approval, which suspends
   * the time limit.
   */
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

type StepState = ('running' | 'waiting' | 'completed' | 'failed') | ('skipped' | 'canceled' | 'unknown' | 'planned');

/** The execution of one action in a run; `id` is `<run>:<seq>`. */
export interface StepRecord extends StoredRecord {
  readonly tenant: string;
  readonly runId: string;
  readonly seq: number;
  readonly actionId: string;
  readonly type: ActionType;
  readonly status: StepState;
  /** Number of attempts that have begun. */
  readonly attempt: number;
  /** Number of failed attempts. */
  readonly failures: number;
  /** The idempotency key of its changes, the same for each attempt. */
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
 * The state that the runs of one automation share; `id` is the automation's. Every unit of work that creates or ends a
 * run writes it, so that runs are numbered and begin in the order of their triggers.
 */
export interface LaneRecord extends StoredRecord {
  readonly tenant: string;
  readonly lastSeq: number;
  /** Number of runs that are due, executing or suspended, and of runs that wait for them. */
  readonly active: number;
  readonly queued: number;
  /** Waiting runs with numbers up to this one are to be skipped, because the automation was switched off or deleted. */
  readonly skipTo?: number | undefined;
  /** Number of consecutive failed runs. */
  readonly failureCount: number;
  readonly lastRun?: { readonly id: string; readonly status: RunState; readonly at: string } | undefined;
}

export const laneCollection: CollectionSpec<LaneRecord> = {
  name: 'automation_lanes',
  indexes: [{ fields: ['tenant'] }, { fields: ['skipTo'], sparse: true }],
};
