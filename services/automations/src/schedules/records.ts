import type { Actor } from '@commonplace/kit/auth';
import { derivedId } from '@commonplace/kit/id';
import { DEAD_INDEX, type JobRecord, type QueueSpec } from '@commonplace/kit/jobs';
import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import type { ActsAs } from '../definitions/records.js';
import type { Timing } from './slots.js';

export type TargetType = 'agent' | 'automation';
export type Overlap = 'skip' | 'buffer_one' | 'allow' | 'cancel_previous';
export type Catchup = 'none' | 'latest' | 'all';
export type ScheduleStatus = 'active' | 'paused' | 'completed' | 'error';
export type PauseReason = 'failures' | 'workspace_archived' | 'automation_deleted' | 'person';

/** What an agent is given. */
export interface AgentInput {
  readonly text: string;
  readonly attachments: readonly string[];
  readonly parameters: Readonly<Record<string, unknown>>;
}

export interface Delivery {
  readonly type: 'im_conversation' | 'chat_session';
  readonly id: string;
}

/** What people have set. Its version rises with their changes and with a change of `status`, never with a fire. */
export interface ScheduleRecord extends StoredRecord {
  /** The Org, or the workspace of a Personal tenant. */
  readonly tenant: string;
  /** Empty for a Personal tenant. */
  readonly orgId: string;
  readonly workspaceId: string;
  readonly name: string;
  readonly targetType: TargetType;
  readonly agentId?: string | undefined;
  readonly automationId?: string | undefined;
  /** As it was given: a text or an object. */
  readonly input?: unknown;
  readonly timing: Timing;
  readonly maxRuns?: number | undefined;
  readonly overlap: Overlap;
  readonly catchup: Catchup;
  readonly catchupWindowSeconds: number;
  /** 0: never. */
  readonly pauseAfterFailures: number;
  readonly deliverTo?: Delivery | undefined;
  readonly status: ScheduleStatus;
  readonly pausedReason?: PauseReason | undefined;
  readonly error?: string | undefined;
  /** Who has changed target, input or timing last, with the scopes of that credential. */
  readonly actsAs: ActsAs;
  readonly createdBy: Actor;
  /** The person behind `createdBy`. */
  readonly createdById: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export const scheduleCollection: CollectionSpec<ScheduleRecord> = {
  name: 'schedules',
  indexes: [
    { fields: ['workspaceId', 'name'] },
    { fields: ['workspaceId', 'agentId'], sparse: true },
    { fields: ['automationId', 'status'], sparse: true },
    { fields: ['agentId', 'status'], sparse: true },
    { fields: ['tenant'] },
  ],
};

export interface LastRun {
  readonly id: string;
  readonly fireId: string;
  readonly targetType: TargetType;
  /** As it was last known. */
  readonly status: string;
  readonly hasEnded: boolean;
  readonly scheduledFor: string;
  readonly startedAt: string;
}

/**
 * What has become of a schedule; `id` is that of the schedule. Every unit that changes its fires writes it, so that their
 * decisions come one after the other. It is also the job that writes fires ahead.
 */
export interface ScheduleStateRecord extends JobRecord {
  readonly tenant: string;
  readonly workspaceId: string;
  /** When further fires have to be written; absent while the schedule is not active. */
  readonly planAt?: string | undefined;
  /** All slots up to here have been written down, or lie before the schedule's last change. */
  readonly plannedUntil: string;
  /** The version of the time zone database that future fires were computed with. */
  readonly tzVersion: string;
  /** Fires that the catch-up under way has started. */
  readonly caughtUp: number;
  readonly runCount: number;
  readonly skippedCount: number;
  readonly missedCount: number;
  readonly consecutiveFailures: number;
  readonly lastRun?: LastRun | undefined;
  /** When the last fires started, newest last. */
  readonly recentStarts: readonly string[];
  /** Milliseconds that the last runs took, newest last. */
  readonly recentDurations: readonly number[];
}

export const stateCollection: CollectionSpec<ScheduleStateRecord> = {
  name: 'schedule_states',
  indexes: [{ fields: ['planAt'] }, { fields: ['tenant'] }, { fields: ['workspaceId'] }, DEAD_INDEX],
};

export const planQueue: QueueSpec<ScheduleStateRecord> = {
  name: 'automations.schedules',
  collection: stateCollection,
  due: 'planAt',
  describe: ({ id, tenant }) => `fires of the schedule ${id} in ${tenant}`,
  keptBecause: () => 'the schedule would not fire any more',
};

export type FireOutcome =
  | ('started' | 'skipped_overlap' | 'missed' | 'coalesced')
  | ('buffered' | 'replaced' | 'failed_to_start' | 'manual');

/**
 * `pending` waits for its time; `waiting` for the end of the run before it; `starting` was started, and the agents service has
 * not answered yet; `canceling` has a run that is to be canceled; `done` waits for nothing.
 */
export type FireState = 'pending' | 'waiting' | 'starting' | 'canceling' | 'done';

export const WAITING_STATES: readonly FireState[] = ['pending', 'waiting', 'starting', 'canceling'];
/** Fires that have not started. */
export const UNSTARTED_STATES: readonly FireState[] = ['pending', 'waiting'];

/** What the run of an agent is started with. */
export interface Launch {
  readonly agentId: string;
  readonly actsAs: ActsAs;
  readonly input: AgentInput;
  readonly deliverTo?: Delivery | undefined;
}

/** A slot of a schedule: its id follows from both, so that there is one record for each, whoever writes it. */
export interface FireRecord extends JobRecord {
  readonly tenant: string;
  readonly workspaceId: string;
  readonly scheduleId: string;
  readonly scheduledFor: string;
  /** `scheduledFor` and the jitter. */
  readonly startsAt: string;
  readonly state: FireState;
  /** What the starts of several schedules write: the automation that they start, otherwise the schedule. */
  readonly lane: string;
  readonly dueAt?: string | undefined;
  readonly outcome?: FireOutcome | undefined;
  readonly reason?: string | undefined;
  /** It was asked for by `trigger_now`. */
  readonly isManual: boolean;
  /** It was missed, and is caught up. */
  readonly isCatchup: boolean;
  readonly targetType?: TargetType | undefined;
  readonly runId?: string | undefined;
  readonly runStatus?: string | undefined;
  readonly runEnded?: boolean | undefined;
  readonly startedAt?: string | undefined;
  readonly lagMs?: number | undefined;
  readonly launch?: Launch | undefined;
  readonly deleteAt?: string | undefined;
}

export const fireCollection: CollectionSpec<FireRecord> = {
  name: 'schedule_fires',
  indexes: [
    { fields: ['scheduleId', 'scheduledFor'] },
    { fields: ['scheduleId', 'state', 'scheduledFor'] },
    { fields: ['scheduleId', 'startedAt'] },
    { fields: ['runId'], sparse: true },
    { fields: ['tenant'] },
    { fields: ['workspaceId'] },
    { fields: ['dueAt'] },
    { fields: ['deleteAt'] },
    DEAD_INDEX,
  ],
  expires: 'deleteAt',
};

export const fireQueue: QueueSpec<FireRecord> = {
  name: 'automations.fires',
  collection: fireCollection,
  due: 'dueAt',
  waiting: { field: 'state', values: WAITING_STATES },
  describe: ({ scheduleId, scheduledFor }) => `fire of the schedule ${scheduleId} at ${scheduledFor}`,
};

export const fireIdOf = (scheduleId: string, scheduledFor: string): string =>
  derivedId(`schedule-fire:${scheduleId}:${scheduledFor}`);
export const runIdOf = (fireId: string): string => derivedId(`schedule-run:${fireId}`);

/** The version of the time zone database that the last process started with. */
export interface TzRecord extends StoredRecord {
  readonly tzVersion: string;
}

export const tzCollection: CollectionSpec<TzRecord> = { name: 'schedule_tz', indexes: [] };
