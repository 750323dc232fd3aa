import { isWorkspaceLimited } from '@commonplace/kit/auth';
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

/** What a run is to do. */
export interface RunWish {
  /** A new id when absent. */
  readonly id?: string | undefined;
  readonly place: Place;
  readonly source: RunSource;
  readonly input: RunInput;
  readonly resourceIds: readonly string[];
  readonly searches: boolean;
  /** The agent whose run it is; the built-in assistant's when absent. The caller has checked that it may be used. */
  readonly agent?: AgentRecord | undefined;
  /** What the request sets beside the agent's policy. */
  readonly policy?: ApprovalPolicy | undefined;
  readonly model?: string | undefined;
  readonly outputSchema?: Readonly<Record<string, unknown>> | undefined;
  readonly maxSteps?: number | undefined;
  readonly maxMicros?: number | undefined;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly retryOf?: string | undefined;
  /** The session to which the reply is added, as this unit of work leaves it without the reply. */
  readonly session?: SessionRecord | undefined;
  /** The conversation into which the answer is written. */
  readonly conversation?: Conversation | undefined;
  /** What is untrusted of that which it is given. */
  readonly taintSources?: readonly TaintSource[] | undefined;
  /** What of it is in the input itself. */
  readonly inputTaints?: readonly TaintSource[] | undefined;
  /** Automations whose runs led to this one, oldest first. */
  readonly chain?: readonly string[] | undefined;
  readonly workItemId?: string | undefined;
  readonly scheduleId?: string | undefined;
  /** The session to which its question and answer are added when it ends. */
  readonly answersTo?: string | undefined;
}

export interface StartedRun {
  readonly run: RunRecord;
  readonly message: MessageRecord | undefined;
}

type Starting = Pick<Asking, 'caller' | 'actor' | 'work'>;

/**
 * Queues a run in this call's unit of work. In a session its reply is a message from the start, so that its number is
 * fixed; the caller writes the session with `activeRunId` and `lastSeq`. Throws `limit_reached` if too many runs of the
 * tenant wait, `model_not_found` for an unknown model, and `insufficient_credits` or `usage_cap_reached` where not even
 * its first step could be paid. What it throws leaves nothing in the unit.
 */
export async function startRun(parts: Parts, wish: RunWish, asking: Starting): Promise<StartedRun> {
  const { work } = asking;
  const { place, session } = wish;
  const fresh = await newRun(parts, wish, asking);
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

/** Returns the record of a run that is to be queued. */
async function newRun(parts: Parts, wish: RunWish, { caller, actor, work }: Starting): Promise<NewRun> {
  const { place, session, source, input, agent } = wish;
  const model = parts.models.get(wish.model ?? agent?.model).info;
  if (wish.outputSchema !== undefined && !parts.models.isConfigured) throw ModelNotConfigured();
  const now = new Date();
  const granted = new Set(caller.credential.scopes);
  return {
    id: wish.id ?? newId(),
    traceparent: traceparentNow(),
    ...place,
    userId: caller.userId,
    initiator: actor,
    credentialId: caller.credential.id,
    scopes: RUN_SCOPES.filter((scope) => granted.has(scope)),
    isLimited: isWorkspaceLimited(caller) || caller.workspaceId !== undefined ? true : undefined,
    lane: agent === undefined ? `assistant:${place.tenant}:${caller.userId}` : `agent:${agent.id}`,
    ...(agent && (await agentFields(parts, agent, work))),
    policy: wish.policy,
    source,
    sessionId: session?.id,
    conversation: wish.conversation,
    taintSources: wish.taintSources ?? wish.inputTaints,
    inputTaints: wish.inputTaints,
    // A run that a call of an automation has started is led by it too.
    chain: wish.chain ?? caller.chain,
    workItemId: wish.workItemId,
    scheduleId: wish.scheduleId,
    answersTo: wish.answersTo,
    messageId: newId(),
    messageSeq: session === undefined ? undefined : session.lastSeq + 1,
    input,
    resourceIds: wish.resourceIds,
    searches: wish.searches && (agent === undefined || agent.tools.includes('search')),
    model: model.id,
    outputSchema: wish.outputSchema,
    maxSteps: least(wish.maxSteps, agent?.maxSteps, parts.settings.runSteps),
    maxMicros:
      wish.maxMicros === undefined && agent?.maxMicros === undefined
        ? undefined
        : least(wish.maxMicros, agent?.maxMicros),
    metadata: wish.metadata ?? {},
    retryOf: wish.retryOf,
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

/** Returns what a run keeps of its agent. */
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

/** Returns the least of some limits, of which at least one is set. */
function least(...limits: readonly (number | undefined)[]): number {
  return Math.min(...limits.filter((limit) => limit !== undefined));
}

/** Milliseconds that a run exists at the most, its waiting included. */
const MAX_AGE_MS = 45 * 24 * 3600 * 1000;
