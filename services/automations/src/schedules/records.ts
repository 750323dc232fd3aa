import type { Actor } from '@commonplace/kit/auth';
import { derivedId } from '@commonplace/kit/id';
import { DEAD_INDEX, type JobRecord, type QueueSpec } from '@commonplace/kit/jobs';
import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import type { ActsAs } from '../acts-as.js';
import type { Timing } from './slots.js';

export type TargetType = 'agent' | 'automation';
export type Overlap = 'skip' | 'buffer_one' | 'allow' | 'cancel_previous';
export type Catchup = 'none' | 'latest' | 'all';
type ScheduleStatus = 'active' | 'paused' | 'completed' | 'error';
export type PauseReason = 'failures' | 'workspace_archived' | 'automation_deleted' | 'person' | 'person_left';

/** The input of an agent's run. */
export interface AgentInput {
  readonly text: string;
  readonly attachments: readonly string[];
  readonly parameters: Readonly<Record<string, unknown>>;
}

export interface Delivery {
  readonly type: 'im_conversation' | 'chat_session';
  readonly id: string;
}

/**
 * The settings of a schedule. Its version increases with changes by people and with each change of `status`, never with
 * a fire.
 */
export interface ScheduleRecord extends StoredRecord {
  /** The id of the Org, or of the workspace for a Personal tenant. */
  readonly tenant: string;
  /** Empty for a Personal tenant. */
  readonly orgId: string;
  readonly workspaceId: string;
  readonly name: string;
  /** The name, folded for sorting and searches. */
  readonly nameFold: string;
  readonly targetType: TargetType;
  readonly agentId?: string | undefined;
  readonly automationId?: string | undefined;
  /** The input as given: a text or an object. */
  readonly input?: unknown;
  readonly timing: Timing;
  readonly maxRuns?: number | undefined;
  readonly overlap: Overlap;
  readonly catchup: Catchup;
  readonly catchupWindowSeconds: number;
  /** 0 never pauses the schedule. */
  readonly pauseAfterFailures: number;
  readonly deliverTo?: Delivery | undefined;
  readonly status: ScheduleStatus;
  readonly pausedReason?: PauseReason | undefined;
  readonly error?: string | undefined;
  /** The person who last changed target, input or timing, with the scopes of the credential used. */
  readonly actsAs: ActsAs;
  readonly createdBy: Actor;
  /** The person behind `createdBy`. */
  readonly createdById: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** Who or what made the last change; absent if that was an earlier version. */
  readonly updatedBy?: Actor | undefined;
}

export const scheduleCollection: CollectionSpec<ScheduleRecord> = {
  name: 'schedules',
  indexes: [
    { fields: ['workspaceId', 'nameFold'] },
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
  /** The last known status. */
  readonly status: string;
  readonly hasEnded: boolean;
  readonly scheduledFor: string;
  readonly startedAt: string;
}

/**
 * The state of a schedule; `id` is the schedule's. Every unit of work that changes its fires writes it, so that
 * decisions about them are serialized. It is also the job that writes fires ahead.
 */
export interface ScheduleStateRecord extends JobRecord {
  readonly tenant: string;
  readonly workspaceId: string;
  /** When the next fires have to be written ahead; absent while the schedule is not active. */
  readonly planAt?: string | undefined;
  /** All slots up to this time are written, or precede the schedule's last change. */
  readonly plannedUntil: string;
  /** The version of the time zone database that future fires were computed with. */
  readonly tzVersion: string;
  /** Number of fires that the current catch-up has started. */
  readonly caughtUp: number;
  readonly runCount: number;
  readonly skippedCount: number;
  readonly missedCount: number;
  readonly consecutiveFailures: number;
  readonly lastRun?: LastRun | undefined;
  /** The start times of the last fires, newest last. */
  readonly recentStarts: readonly string[];
  /** The durations of the last runs in milliseconds, newest last. */
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
  keptBecause: () => 'the schedule would no longer fire',
};

export type FireOutcome =
  | ('started' | 'skipped_overlap' | 'missed' | 'coalesced')
  | ('buffered' | 'replaced' | 'failed_to_start' | 'manual');

/**
 * `pending` waits for its time; `waiting` waits for the end of the previous run; `starting` waits for the answer of the
 * agents service; `canceling` has a run to be canceled; `done` is final.
 */
type FireState = 'pending' | 'waiting' | 'starting' | 'canceling' | 'done';

export const WAITING_STATES: readonly FireState[] = ['pending', 'waiting', 'starting', 'canceling'];
/** Fires that have not started. */
export const UNSTARTED_STATES: readonly FireState[] = ['pending', 'waiting'];

/** The parameters for starting the run of an agent. */
interface Launch {
  readonly agentId: string;
  readonly actsAs: ActsAs;
  readonly input: AgentInput;
  readonly deliverTo?: Delivery | undefined;
  /** The last run before this one, which it is again if the start is refused. */
  readonly lastRun?: LastRun | undefined;
}

/**
 * A slot of a schedule. Its id is derived from the schedule and the time, so that there is one record for each slot.
 */
export interface FireRecord extends JobRecord {
  readonly tenant: string;
  readonly workspaceId: string;
  readonly scheduleId: string;
  readonly scheduledFor: string;
  /** `scheduledFor` plus the jitter. */
  readonly startsAt: string;
  readonly state: FireState;
  /** The group whose fires are handled one after another: the automation that they start, otherwise the schedule. */
  readonly lane: string;
  readonly dueAt?: string | undefined;
  readonly outcome?: FireOutcome | undefined;
  readonly reason?: string | undefined;
  /** Whether `trigger_now` requested it. */
  readonly isManual: boolean;
  /** Whether it was missed and is being caught up. */
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

/**
 * The version of the time zone database with which something was done last: `tz` is the start of a process, `over` the search
 * for active schedules without further fires, which earlier versions have left.
 */
export interface TzRecord extends StoredRecord {
  readonly tzVersion: string;
}

export const tzCollection: CollectionSpec<TzRecord> = { name: 'schedule_tz', indexes: [] };
