import { isWorkspaceLimited, workspacesReached } from '@commonplace/kit/auth';
import { newId } from '@commonplace/kit/id';
import type { UnitOfWork } from '@commonplace/kit/store';
import { traceparentNow } from '@commonplace/kit/telemetry';
import { requireFirstStep } from '../credits/first-step.js';
import { RUN_SCOPES } from '../domain/scopes.js';
import type { TaintSource } from '../domain/taint.js';
import { ModelNotConfigured } from '../errors.js';
import type { Parts } from '../parts.js';
import type { Asking, Place } from '../policy.js';
import type { AgentRecord, ApprovalPolicy } from '../stores/agents.js';
import { type Conversation, NOTHING_SPENT, type RunInput, type RunRecord, type RunSource } from '../stores/runs.js';
import type { MessageRecord, SessionRecord } from '../stores/sessions.js';
import { startedEvent } from './events.js';
import { logEvents } from './log.js';

/** The parameters of a new run. */
export interface RunDraft {
  /** The id of the run; a new one if absent. */
  readonly id?: string | undefined;
  readonly place: Place;
  readonly source: RunSource;
  readonly input: RunInput;
  readonly resourceIds: readonly string[];
  readonly searches: boolean;
  /** The agent of the run, or the built-in assistant if absent. The caller has checked that it may be used. */
  readonly agent?: AgentRecord | undefined;
  /** The policy of the request, in addition to the agent's. */
  readonly policy?: ApprovalPolicy | undefined;
  readonly model?: string | undefined;
  readonly outputSchema?: Readonly<Record<string, unknown>> | undefined;
  readonly maxSteps?: number | undefined;
  readonly maxMicros?: number | undefined;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly retryOf?: string | undefined;
  /** The session that the reply is added to, as it is in this unit of work without the reply. */
  readonly session?: SessionRecord | undefined;
  /** The conversation that receives the answer. */
  readonly conversation?: Conversation | undefined;
  /** The taints of everything that the run is given. */
  readonly taintSources?: readonly TaintSource[] | undefined;
  /** The taints of the input itself. */
  readonly inputTaints?: readonly TaintSource[] | undefined;
  /** The automations whose runs led to this one, oldest first. */
  readonly chain?: readonly string[] | undefined;
  readonly workItemId?: string | undefined;
  readonly scheduleId?: string | undefined;
  /** The session that receives question and answer when the run ends. */
  readonly answersTo?: string | undefined;
}

interface StartedRun {
  readonly run: RunRecord;
  readonly message: MessageRecord | undefined;
}

type Starting = Pick<Asking, 'caller' | 'actor' | 'work'>;

/**
 * Queues a run in the unit of work of a call. In a session it also inserts the reply's message, so that its number is
 * fixed; the caller writes `activeRunId` and `lastSeq` of the session. Throws `limit_reached` if too many runs of the
 * tenant wait, `model_not_found`, and `insufficient_credits` or `usage_cap_reached` if the first step could not be
 * paid. After an error the unit of work is unchanged.
 */
export async function startRun(parts: Parts, draft: RunDraft, asking: Starting): Promise<StartedRun> {
  const { work } = asking;
  const { place, session } = draft;
  const fresh = await newRun(parts, draft, asking);
  await requireFirstStep(parts, fresh);
  await parts.quotas.waiting.reserve(work, place.tenant);
  const run = work.insert(parts.runs, fresh);
  const { id, messageId, messageSeq: seq, createdAt } = run;
  const message =
    session === undefined || seq === undefined
      ? undefined
      : work.insert(parts.messages, {
          ...{ id: messageId, tenant: place.tenant, sessionId: session.id, seq, role: 'assistant', content: '' },
          ...{ citations: [], sourceIds: [], runId: id, status: 'streaming', model: run.model },
          ...{ degraded: false, isImported: false, createdAt },
        });
  const created = { messageId, runId: id, sessionId: session?.id, seq };
  logEvents(parts, work, { id, tenant: place.tenant, eventCount: 0 }, [{ type: 'message.created', data: created }]);
  work.publish(startedEvent(run));
  return { run, message };
}

/** Returns the record of a new run. */
async function newRun(parts: Parts, draft: RunDraft, { caller, actor, work }: Starting): Promise<NewRun> {
  const { place, session, source, input, agent } = draft;
  const model = parts.models.get(draft.model ?? agent?.model).info;
  if (draft.outputSchema !== undefined && !parts.models.isConfigured) throw ModelNotConfigured();
  const now = new Date();
  const granted = new Set(caller.credential.scopes);
  return {
    id: draft.id ?? newId(),
    traceparent: traceparentNow(),
    ...place,
    userId: caller.userId,
    authorId: caller.authorId,
    initiator: actor,
    credentialId: caller.credential.id,
    scopes: RUN_SCOPES.filter((scope) => granted.has(scope)),
    isLimited: isWorkspaceLimited(caller) || caller.workspaceId !== undefined ? true : undefined,
    limitedTo: workspacesReached(caller),
    lane: agent === undefined ? `assistant:${place.tenant}:${caller.userId}` : `agent:${agent.id}`,
    ...(agent && (await agentFields(parts, agent, work))),
    policy: draft.policy,
    source,
    sessionId: session?.id,
    conversation: draft.conversation,
    taintSources: draft.taintSources ?? draft.inputTaints,
    inputTaints: draft.inputTaints,
    // A run that an automation's call has started continues the chain of the automation.
    chain: draft.chain ?? caller.chain,
    workItemId: draft.workItemId,
    scheduleId: draft.scheduleId,
    answersTo: draft.answersTo,
    messageId: newId(),
    messageSeq: session === undefined ? undefined : session.lastSeq + 1,
    input,
    resourceIds: draft.resourceIds,
    searches: draft.searches && (agent === undefined || agent.tools.includes('search')),
    model: model.id,
    outputSchema: draft.outputSchema,
    maxSteps: least(draft.maxSteps, agent?.maxSteps, parts.settings.runSteps),
    maxMicros:
      draft.maxMicros === undefined && agent?.maxMicros === undefined
        ? undefined
        : least(draft.maxMicros, agent?.maxMicros),
    metadata: draft.metadata ?? {},
    retryOf: draft.retryOf,
    status: 'queued',
    dueAt: now.toISOString(),
    attempt: 0,
    stepCount: 0,
    eventCount: 1,
    spent: NOTHING_SPENT,
    createdAt: now.toISOString(),
    endsBy: new Date(now.getTime() + MAX_AGE_MS).toISOString(),
  };
}

type NewRun = Omit<RunRecord, 'version'>;

/** Returns the fields that a run copies from its agent. */
async function agentFields({ agentPins }: Parts, agent: AgentRecord, work: UnitOfWork): Promise<AgentPart> {
  const { id, name, promptVersion, maxMinutes, policy } = agent;
  const pins = await work.get(agentPins, id);
  return {
    ...{ agentId: id, agentName: name, agentVersion: promptVersion, maxMinutes },
    ...{ pinnedIds: pins?.resourceIds, pinnedPolicy: policy },
  };
}

type AgentPart = Pick<
  RunRecord,
  'agentId' | 'agentName' | 'agentVersion' | 'maxMinutes' | 'pinnedIds' | 'pinnedPolicy'
>;

/** Returns the least of the limits, at least one of which must be set. */
function least(...limits: readonly (number | undefined)[]): number {
  return Math.min(...limits.filter((limit) => limit !== undefined));
}

/** Maximum age of a run in milliseconds, including its waiting time. */
const MAX_AGE_MS = 45 * 24 * 3600 * 1000;
