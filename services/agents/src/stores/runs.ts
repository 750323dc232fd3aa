import type { Actor } from '@commonplace/kit/auth';
import { DEAD_INDEX, type JobRecord, type QueueSpec } from '@commonplace/kit/jobs';
import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import type { StoredCitation } from '../domain/citation.js';
import type { TaintSource } from '../domain/taint.js';
import type { Effect } from '../domain/tool-plan.js';
import type { ApprovalPolicy } from './agents.js';

export type RunState =
  | 'queued'
  | 'running'
  | 'awaiting_approval'
  | 'canceling'
  | 'completed'
  | 'failed'
  | 'canceled'
  | 'expired';
export type RunSource = 'api' | 'chat' | 'im' | 'schedule' | 'automation' | 'work_item';

/** States in which a run waits for a worker or is held by one; while it awaits approvals it is not due. */
export const LIVE: readonly RunState[] = ['queued', 'running', 'awaiting_approval', 'canceling'];
const ENDED: ReadonlySet<RunState> = new Set(['completed', 'failed', 'canceled', 'expired']);

export const hasEnded = ({ status }: Pick<RunRecord, 'status'>): boolean => ENDED.has(status);

export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
}

/** Tokens and credits of a run, a step or a session. */
export interface Spent {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Millionths of a credit. */
  readonly micros: number;
  readonly toolCalls: number;
  /** Whether any of it was estimated because a provider sent no count. */
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
}

/** A tool of which a person has said that they need not be asked again in a run. */
export interface RememberedTool {
  readonly name: string;
  readonly serverId?: string | undefined;
  readonly toolHash: string;
}

/** The conversation into which the answer of a run is written. */
export interface Conversation {
  readonly id: string;
  /** The message that mentions the agent; absent where no message has started the run. */
  readonly messageId?: string | undefined;
  /** Messages before it, oldest first. Empty once they have been erased. */
  readonly earlier: readonly EarlierMessage[];
}

export interface EarlierMessage {
  /** The name of who has written it. */
  readonly author: string;
  /** The agent of the run has written it. */
  readonly isOwn: boolean;
  readonly text: string;
}

/** Work for a person, from a question to its answer. Its steps and events are records of their own. */
export interface RunRecord extends JobRecord {
  readonly tenant: string;
  /** Empty for a Personal tenant. */
  readonly orgId: string;
  readonly workspaceId?: string | undefined;
  /** The person with whose rights it runs. */
  readonly userId: string;
  readonly initiator: Actor;
  /** The credential that started it: its id, and the scopes that bound what the run may read. */
  readonly credentialId: string;
  readonly scopes: readonly string[];
  /** Whether that credential reaches some workspaces only. */
  readonly isLimited?: boolean | undefined;
  readonly agentId?: string | undefined;
  /** Which of the agent's versions it uses, and its name. */
  readonly agentVersion?: number | undefined;
  readonly agentName?: string | undefined;
  /** Resources that the agent always sees, as they were pinned when the run was created. */
  readonly pinnedIds?: readonly string[] | undefined;
  /** Minutes that it may run, if the agent allows fewer than the server. */
  readonly maxMinutes?: number | undefined;
  /** What the request has set beside the agent's policy. */
  readonly policy?: ApprovalPolicy | undefined;
  /** The agent's policy when the run began; of it and the present one the stricter decides. */
  readonly pinnedPolicy?: ApprovalPolicy | undefined;
  /** Untrusted content that it has read: it is tainted if there is any. */
  readonly taintSources?: readonly TaintSource[] | undefined;
  /** What of it is in the input itself: then the words of the input are not taken for those of the person. */
  readonly inputTaints?: readonly TaintSource[] | undefined;
  /** Automations whose runs led to this one, oldest first. */
  readonly chain?: readonly string[] | undefined;
  readonly workItemId?: string | undefined;
  readonly scheduleId?: string | undefined;
  /** What shares the limit of concurrent runs: the agent, or the person with the built-in assistant. */
  readonly lane: string;
  readonly source: RunSource;
  /** The session whose reply it is; from its end on also the session to which its question and answer were added. */
  readonly sessionId?: string | undefined;
  /** The session to which its question and answer are added when it ends. */
  readonly answersTo?: string | undefined;
  /** The conversation that its answer is written into. */
  readonly conversation?: Conversation | undefined;
  /** The chat message that it writes. */
  readonly messageId: string;
  readonly messageSeq?: number | undefined;
  /** Absent once it has been erased. */
  readonly input?: RunInput | undefined;
  readonly resourceIds: readonly string[];
  /** Whether it searches, besides what it is given. */
  readonly searches: boolean;
  readonly model: string;
  readonly outputSchema?: Readonly<Record<string, unknown>> | undefined;
  readonly maxSteps: number;
  /** Millionths of a credit; no limit of its own when absent. */
  readonly maxMicros?: number | undefined;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly retryOf?: string | undefined;

  readonly status: RunState;
  /** When a worker takes it up next, or its lease ends. */
  readonly dueAt?: string | undefined;
  /** How often a worker has taken it up. */
  readonly attempt: number;
  readonly stepCount: number;
  readonly eventCount: number;
  readonly spent: Spent;
  readonly output?: RunOutput | undefined;
  /** Resources that the model was given: who may not read all of them sees no output of the run. */
  readonly sourceIds?: readonly string[] | undefined;
  /** Nobody but the person who started it may see its output. */
  readonly isPrivate?: boolean | undefined;
  /** Messages of the conversation that did not fit into the model's window. */
  readonly droppedMessages?: number | undefined;
  /** The text under way of a run outside chat sessions, as it was saved last. */
  readonly draft?: string | undefined;
  readonly error?: Failure | undefined;
  readonly cancelReason?: string | undefined;
  readonly createdAt: string;
  readonly startedAt?: string | undefined;
  readonly finishedAt?: string | undefined;
  /** When it ends at the latest. */
  readonly endsBy: string;
  /** Approvals that nobody has decided yet. */
  readonly pendingApprovalIds?: readonly string[] | undefined;
  /** Approvals with which credits were reserved for the step after them. */
  readonly reservedApprovalIds?: readonly string[] | undefined;
  /** Tools that a person has allowed for the rest of the run. */
  readonly remembered?: readonly RememberedTool[] | undefined;
  /** Milliseconds that it may still take, while it awaits approvals. */
  readonly remainingMs?: number | undefined;
  /** Whether the worker that holds it goes on after approvals, rather than after a worker that has died. */
  readonly isResumed?: boolean | undefined;
  /** Number of the text that it writes: one that begins anew has a higher one. */
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

export type StepState = 'planned' | 'running' | 'completed' | 'failed' | 'denied' | 'canceled' | 'unknown';

/** One call of a model or a tool. */
export interface StepRecord extends StoredRecord {
  readonly tenant: string;
  readonly runId: string;
  readonly seq: number;
  readonly type: 'message' | 'tool_call' | 'memory';
  /** The model or the tool. */
  readonly name: string;
  readonly toolCallId?: string | undefined;
  readonly serverId?: string | undefined;
  readonly effect: Effect;
  /** The approval that it waits for, or has waited for last. */
  readonly approvalId?: string | undefined;
  /** Hash of the tool, the policy and the input for which a person has approved it. */
  readonly grantedFor?: string | undefined;
  /** Questions that its tool has asked. */
  readonly questions?: number | undefined;
  /** A result came after the step was closed. It is kept and not used. */
  readonly isLate?: boolean | undefined;
  readonly lateOutput?: unknown;
  readonly attempt: number;
  /** Absent once they have been erased. */
  readonly input?: unknown;
  readonly output?: unknown;
  readonly truncated: boolean;
  readonly status: StepState;
  readonly spent?: Spent | undefined;
  /** What its last attempt has cost, which is charged once this is stored. */
  readonly owed?: Spent | undefined;
  /** Millionths of a credit that are reserved for this attempt. */
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

/** An event of a run, as it is kept for streams that begin or resume later. The text of a message is not part of it. */
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
