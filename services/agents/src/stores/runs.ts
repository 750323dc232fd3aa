import type { Actor } from '@commonplace/kit/auth';
import { DEAD_INDEX, type JobRecord, type QueueSpec } from '@commonplace/kit/jobs';
import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import type { StoredCitation } from '../domain/citation.js';
import type { TaintSource } from '../domain/taint.js';
import type { Effect } from '../domain/tool-plan.js';
import type { ApprovalPolicy } from './agents.js';

type RunState =
  | 'queued'
  | 'running'
  | 'awaiting_approval'
  | 'canceling'
  | 'completed'
  | 'failed'
  | 'canceled'
  | 'expired';
export type RunSource = 'api' | 'chat' | 'im' | 'schedule' | 'automation' | 'work_item';

/** The states of a run that has not ended. A run that waits for approvals is not due. */
export const LIVE: readonly RunState[] = ['queued', 'running', 'awaiting_approval', 'canceling'];
const ENDED: ReadonlySet<RunState> = new Set(['completed', 'failed', 'canceled', 'expired']);

export const hasEnded = ({ status }: Pick<RunRecord, 'status'>): boolean => ENDED.has(status);

export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
}

/** Used tokens and credits of a run, a step or a session. */
export interface Spent {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Millionths of a credit. */
  readonly micros: number;
  readonly toolCalls: number;
  /** Whether a part of it is estimated because a provider sent no usage. */
  readonly estimated: boolean;
}

export const NOTHING_SPENT: Spent = { inputTokens: 0, outputTokens: 0, micros: 0, toolCalls: 0, estimated: false };

export const addSpent = (a: Spent, b: Spent): Spent => ({
  inputTokens: a.inputTokens + b.inputTokens,
  outputTokens: a.outputTokens + b.outputTokens,
  micros: a.micros + b.micros,
  toolCalls: a.toolCalls + b.toolCalls,
  estimated: a.estimated || b.estimated,
});

export interface RunInput {
  readonly text: string;
  readonly attachments: readonly string[];
  readonly parameters: Readonly<Record<string, unknown>>;
}

export interface RunOutput {
  readonly text: string;
  readonly resourceIds: readonly string[];
  readonly citations: readonly StoredCitation[];
  /** The JSON value that follows the run's output schema. */
  readonly data?: unknown;
  readonly degraded: boolean;
  /** Whether the text has reached its limit and ends there. */
  readonly isTruncated?: boolean | undefined;
}

/** A tool that a person has allowed for the rest of a run. */
interface RememberedTool {
  readonly name: string;
  readonly serverId?: string | undefined;
  readonly toolHash: string;
}

/** The conversation that receives the answer of a run. */
export interface Conversation {
  readonly id: string;
  /** The message that mentions the agent; absent if no message started the run. */
  readonly messageId?: string | undefined;
  /** The messages before it, oldest first. Empty after they were erased. */
  readonly earlier: readonly EarlierMessage[];
}

export interface EarlierMessage {
  /** The name of the author. */
  readonly author: string;
  /** Whether the agent of the run wrote it. */
  readonly isOwn: boolean;
  readonly text: string;
}

/** A run of an agent or the assistant, from a question to its answer. Steps and events are separate records. */
export interface RunRecord extends JobRecord {
  readonly tenant: string;
  /** Empty for a Personal tenant. */
  readonly orgId: string;
  readonly workspaceId?: string | undefined;
  /** The person whose rights the run has. */
  readonly userId: string;
  /** The author of the automation that started it, if that acts with the person's rights: the run can do what both may. */
  readonly authorId?: string | undefined;
  readonly initiator: Actor;
  /** The credential that started it: its id, and the scopes that limit the run. */
  readonly credentialId: string;
  readonly scopes: readonly string[];
  /** Whether the credential is limited to some workspaces, and to which; earlier versions did not store those. */
  readonly isLimited?: boolean | undefined;
  readonly limitedTo?: readonly string[] | undefined;
  readonly agentId?: string | undefined;
  /** The version of the agent that it uses, and the agent's name. */
  readonly agentVersion?: number | undefined;
  readonly agentName?: string | undefined;
  /** The resources that were pinned to the agent when the run was created. */
  readonly pinnedIds?: readonly string[] | undefined;
  /** The agent's limit of running time in minutes; the server's limit applies as well. */
  readonly maxMinutes?: number | undefined;
  /** The policy of the request, in addition to the agent's. */
  readonly policy?: ApprovalPolicy | undefined;
  /** The agent's policy when the run began. The stricter of it and the current policy applies. */
  readonly pinnedPolicy?: ApprovalPolicy | undefined;
  /** The untrusted sources that the run has read. The run is tainted if there are any. */
  readonly taintSources?: readonly TaintSource[] | undefined;
  /** The taints of the input itself. If there are any, the words of the input do not count as the person's. */
  readonly inputTaints?: readonly TaintSource[] | undefined;
  /** The automations whose runs led to this one, oldest first. */
  readonly chain?: readonly string[] | undefined;
  readonly workItemId?: string | undefined;
  readonly scheduleId?: string | undefined;
  /** The key for the limit of concurrent runs: the agent, or the person for the built-in assistant. */
  readonly lane: string;
  readonly source: RunSource;
  /** The session of the reply, or the session that received question and answer when the run ended. */
  readonly sessionId?: string | undefined;
  /** The session that receives question and answer when the run ends. */
  readonly answersTo?: string | undefined;
  /** The conversation that receives the answer. */
  readonly conversation?: Conversation | undefined;
  /** The message that it writes. */
  readonly messageId: string;
  readonly messageSeq?: number | undefined;
  /** Absent after it was erased. */
  readonly input?: RunInput | undefined;
  readonly resourceIds: readonly string[];
  /** Whether it searches, in addition to reading the named resources. */
  readonly searches: boolean;
  readonly model: string;
  readonly outputSchema?: Readonly<Record<string, unknown>> | undefined;
  readonly maxSteps: number;
  /** The maximum cost in millionths of a credit; absent without an own limit. */
  readonly maxMicros?: number | undefined;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly retryOf?: string | undefined;

  readonly status: RunState;
  /** When a worker can claim it, or its lease ends. */
  readonly dueAt?: string | undefined;
  /** Number of attempts by workers, not counting those that continue after approvals. */
  readonly attempt: number;
  readonly stepCount: number;
  readonly eventCount: number;
  readonly spent: Spent;
  readonly output?: RunOutput | undefined;
  /** The resources that the model has received. Readers who cannot read all of them do not see the output. */
  readonly sourceIds?: readonly string[] | undefined;
  /** Whether only the person who started it may see its output. */
  readonly isPrivate?: boolean | undefined;
  /** Number of history messages that did not fit into the model's context. */
  readonly droppedMessages?: number | undefined;
  /** The last saved text of a run without a chat session that has not completed, with its citations. */
  readonly draft?: string | undefined;
  readonly draftCitations?: readonly StoredCitation[] | undefined;
  readonly error?: Failure | undefined;
  readonly cancelReason?: string | undefined;
  readonly createdAt: string;
  readonly startedAt?: string | undefined;
  readonly finishedAt?: string | undefined;
  /** When it ends at the latest. */
  readonly endsBy: string;
  /** The undecided approvals. */
  readonly pendingApprovalIds?: readonly string[] | undefined;
  /** The approvals that have reserved credits for the next step. */
  readonly reservedApprovalIds?: readonly string[] | undefined;
  /** Tools that a person has allowed for the rest of the run. */
  readonly remembered?: readonly RememberedTool[] | undefined;
  /** Milliseconds left of its time limit while it waits for approvals. */
  readonly remainingMs?: number | undefined;
  /** Whether the current worker continues after approvals, rather than after a worker that has died. */
  readonly isResumed?: boolean | undefined;
  /** The version of its text, which a restart increases. */
  readonly textNumber?: number | undefined;
  /** When its inputs and outputs are erased, and when it is deleted. */
  readonly eraseAt?: string | undefined;
  readonly deleteAt?: string | undefined;
}

export const runCollection: CollectionSpec<RunRecord> = {
  name: 'runs',
  indexes: [
    { fields: ['userId', 'createdAt'] },
    { fields: ['workspaceId', 'createdAt'] },
    { fields: ['sessionId', 'createdAt'] },
    { fields: ['agentId', 'createdAt'] },
    { fields: ['status', 'tenant', 'createdAt'] },
    { fields: ['lane', 'status'] },
    { fields: ['tenant'] },
    { fields: ['dueAt'] },
    { fields: ['eraseAt'], sparse: true },
    { fields: ['deleteAt'] },
    DEAD_INDEX,
  ],
  expires: 'deleteAt',
};

export const runQueue: QueueSpec<RunRecord> = {
  name: 'agents.runs',
  collection: runCollection,
  due: 'dueAt',
  waiting: { field: 'status', values: LIVE },
  describe: ({ tenant, source, userId }) => `${source} run of ${userId} in ${tenant}`,
  keptBecause: () => 'its chat session waits for it',
};

export type { Effect } from '../domain/tool-plan.js';

type StepState = 'planned' | 'running' | 'completed' | 'failed' | 'denied' | 'canceled' | 'unknown';

/** One call of a model or a tool. */
export interface StepRecord extends StoredRecord {
  readonly tenant: string;
  readonly runId: string;
  readonly seq: number;
  readonly type: 'message' | 'tool_call' | 'memory';
  /** The name of the model or the tool. */
  readonly name: string;
  readonly toolCallId?: string | undefined;
  readonly serverId?: string | undefined;
  readonly effect: Effect;
  /** The latest approval of the call. */
  readonly approvalId?: string | undefined;
  /** The hash of tool, policy and input that a person has approved. */
  readonly grantedFor?: string | undefined;
  /** Number of questions that its tool has asked. */
  readonly questions?: number | undefined;
  /** Whether a result arrived after the step was closed. It is stored but not used. */
  readonly isLate?: boolean | undefined;
  readonly lateOutput?: unknown;
  readonly attempt: number;
  /** Absent after they were erased. */
  readonly input?: unknown;
  readonly output?: unknown;
  readonly truncated: boolean;
  readonly status: StepState;
  readonly spent?: Spent | undefined;
  /** The cost of the last attempt, which is charged after this is stored. */
  readonly owed?: Spent | undefined;
  /** The reserved credits of this attempt, in millionths. */
  readonly reservedMicros?: number | undefined;
  readonly error?: Failure | undefined;
  readonly startedAt: string;
  readonly durationMs?: number | undefined;
  readonly deleteAt?: string | undefined;
}

export const stepCollection: CollectionSpec<StepRecord> = {
  name: 'run_steps',
  indexes: [{ fields: ['runId', 'seq'] }, { fields: ['tenant'] }, { fields: ['deleteAt'] }],
  expires: 'deleteAt',
};

export const stepId = (runId: string, seq: number): string => `${runId}:${seq}`;

export type RunEventType =
  | 'message.created'
  | 'message.restarted'
  | 'message.completed'
  | 'citation.added'
  | 'tool.started'
  | 'tool.finished'
  | 'approval.requested'
  | 'approval.decided'
  | 'run.completed'
  | 'run.failed'
  | 'run.canceled'
  | 'run.expired';

/** A stored event of a run, for streams that begin or resume later. It does not contain the text of messages. */
export interface RunEventRecord extends StoredRecord {
  readonly tenant: string;
  readonly runId: string;
  readonly seq: number;
  readonly type: RunEventType;
  readonly data: Readonly<Record<string, unknown>>;
  readonly at: string;
  readonly deleteAt?: string | undefined;
}

export const runEventCollection: CollectionSpec<RunEventRecord> = {
  name: 'run_events',
  indexes: [{ fields: ['runId', 'seq'] }, { fields: ['tenant'] }, { fields: ['deleteAt'] }],
  expires: 'deleteAt',
};
