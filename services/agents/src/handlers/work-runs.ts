import { type Caller, reachesPlace } from '@commonplace/kit/auth';
import { AppError, InsufficientScope, invalidField } from '@commonplace/kit/errors';
import type { Handlers } from '@commonplace/kit/rpc';
import { isLongerThan } from '@commonplace/kit/words';
import { RunSource, RunStatus } from '@commonplace/proto/agents/v1/run.js';
import type { StartWorkRunRequest, WorkRun, WorkRunService } from '@commonplace/proto/agents/v1/work_run_service.js';
import { agentForRun } from '../agents/use.js';
import { parseCredits } from '../domain/micros.js';
import { distinctTaints, isTaintType, type TaintSource } from '../domain/taint.js';
import type { Parts } from '../parts.js';
import { type Asking, choosePlace, type Place } from '../policy.js';
import { cancelRun } from '../runs/cancel.js';
import { type RunDraft, startRun } from '../runs/start.js';
import { startingCaller } from '../runs/starting-caller.js';
import type { RunInput, RunRecord, RunSource as Source } from '../stores/runs.js';
import type { SessionRecord } from '../stores/sessions.js';
import { outputMessage } from '../wire/runs.js';
import { PERMANENT_CODES, REPORTED_REASONS } from './run-refusals.js';

/** Creates the handlers for runs that work items, schedules and automations start. */
export function createWorkRunHandlers(parts: Parts): Handlers<WorkRunService> {
  return {
    async startWorkRun(request, { work }) {
      const { runId, userId: id, userName: name } = request;
      if ((await work.get(parts.runs, runId)) !== undefined) return STARTED;
      const actor = { type: 'user', id, name } as const;
      const asking = { caller: startingCaller(request), actor, work, onward: parts.systemCall() };
      try {
        await startRun(parts, await draftOf(parts, request, asking), asking);
        return STARTED;
      } catch (error) {
        return refusalOf(parts, request, error);
      }
    },

    async cancelWorkRun({ runId, reason }, context) {
      const run = await context.work.get(parts.runs, runId);
      if (run !== undefined && isWork(run)) await cancelRun(parts, run, reason || undefined, context);
      return {};
    },

    async checkAnswerSession({ sessionId, userId, orgId, limitedTo }, { work }) {
      const session = await work.get(parts.sessions, sessionId);
      return { mayAnswer: mayAnswerIn(session, userId, orgId, limitedTo) };
    },

    async findWorkRuns({ runIds }) {
      const found: RunRecord[] = [];
      for (let at = 0; at < runIds.length; at += CHUNK) {
        found.push(...(await parts.runs.getMany([...new Set(runIds.slice(at, at + CHUNK))])));
      }
      return { items: found.filter(isWork).map(workRun) };
    },
  };
}

const STARTED = { refusalCode: '', refusal: '' };
const CHUNK = 200;

const SOURCES: Readonly<Partial<Record<RunSource, Source>>> = {
  [RunSource.SCHEDULE]: 'schedule',
  [RunSource.AUTOMATION]: 'automation',
  [RunSource.WORK_ITEM]: 'work_item',
};
const WORK: ReadonlySet<Source> = new Set(Object.values(SOURCES));

/** Returns whether a run was started through this service, and not by a client's request. */
const isWork = ({ source }: RunRecord): boolean => WORK.has(source);

// ---- start

async function draftOf(parts: Parts, request: StartWorkRunRequest, asking: Asking): Promise<RunDraft> {
  const { agentId, conversationId, sessionId } = request;
  const source = SOURCES[request.source];
  if (source === undefined) throw invalidField('source', 'invalid_value', 'is not a source of work.');
  const input = inputOf(request);
  const limits = limitsOf(request);
  const { agent, workspaceId } = await agentForRun(parts, agentId, request.workspaceId, asking);
  const place = await choosePlace(parts, { workspaceId }, asking);
  if (sessionId !== undefined) await requireSession(parts, sessionId, place, asking);
  if (conversationId !== undefined) await requireConversation(parts, conversationId, asking);
  const resourceIds = [...new Set([...request.resourceIds, ...input.attachments])];
  const taints = taintsOf(request);
  return {
    ...{ id: request.runId, place, agent, source, input, resourceIds, searches: true, ...limits },
    ...{ workItemId: request.workItemId, scheduleId: request.scheduleId, answersTo: sessionId },
    ...(conversationId !== undefined && { conversation: { id: conversationId, earlier: [] } }),
    ...(taints.length > 0 && { inputTaints: taints }),
    ...(request.chain.length > 0 && { chain: request.chain }),
  };
}

const MAX_TEXT = 100_000;

function inputOf({ input }: StartWorkRunRequest): RunInput {
  const { text = '', attachments = [], parameters = Buffer.alloc(0) } = input ?? {};
  if (text.trim() === '') throw invalidField('input.text', 'missing_field', 'must not be empty.');
  if (isLongerThan(text, MAX_TEXT)) {
    throw invalidField('input.text', 'invalid_value', `may have at most ${MAX_TEXT} characters.`);
  }
  return { text: text.trim(), attachments, parameters: parametersOf(parameters) };
}

function parametersOf(bytes: Buffer): Readonly<Record<string, unknown>> {
  return bytes.length === 0 ? {} : (JSON.parse(bytes.toString()) as Record<string, unknown>);
}

function limitsOf({ maxCredits, maxSteps }: StartWorkRunRequest): Pick<RunDraft, 'maxMicros' | 'maxSteps'> {
  const maxMicros = maxCredits === undefined ? undefined : parseCredits(maxCredits);
  if (maxCredits !== undefined && maxMicros === undefined) {
    throw invalidField('max_credits', 'invalid_value', 'must be a decimal below 1,000,000,000 with up to six places.');
  }
  if (maxSteps !== undefined && maxSteps < 1) throw invalidField('max_steps', 'invalid_value', 'must be at least 1.');
  return { maxMicros, maxSteps };
}

function taintsOf({ taintSources }: StartWorkRunRequest): TaintSource[] {
  const known = taintSources.map(({ type, id, name }) => ({ type: isTaintType(type) ? type : 'guest', id, name }));
  return distinctTaints(known).slice(0, MAX_TAINTS);
}

/** Maximum number of sources of untrusted input whose names a run keeps. */
const MAX_TAINTS = 100;

// ---- delivery of the answer

class TargetGone extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** Returns whether a run of a person in an Org, or in Personal, may add its answer to a session. */
function mayAnswerIn(
  session: SessionRecord | undefined,
  userId: string,
  orgId: string,
  limitedTo: readonly string[] | undefined = [],
): boolean {
  if (session === undefined || session.ownerId !== userId || session.orgId !== orgId) return false;
  return limitedTo.length === 0 || limitedTo.includes(session.workspaceId ?? '');
}

async function requireSession(
  { sessions }: Parts,
  id: string,
  { orgId }: Place,
  { caller, work }: Asking,
): Promise<void> {
  requireScope(caller, 'chat_session:write');
  const session = await work.get(sessions, id);
  if (mayAnswerIn(session, caller.userId, orgId, caller.credential.workspaceIds)) return;
  throw new TargetGone('session_not_found', 'The chat session to which the answer is to be added does not exist.');
}

async function requireConversation(parts: Parts, conversationId: string, { caller, onward }: Asking): Promise<void> {
  requireScope(caller, 'im:write');
  const pairs = [{ userId: caller.userId, conversationId }];
  const { standings } = await parts.conversations.checkMembers({ pairs }, onward);
  const [standing] = standings;
  if (standing?.isActive === true) {
    const { workspaceId, orgId } = standing;
    // The rights may be those of a key that is limited to other workspaces.
    if (reachesPlace(caller, { workspaceId: workspaceId || undefined, orgId })) return;
  }
  const message = 'The person is not a member of the conversation that the answer would be written to.';
  throw new TargetGone('conversation_not_found', message);
}

function requireScope({ credential }: Caller, scope: string): void {
  if (!credential.scopes.includes(scope)) throw InsufficientScope({ scope });
}

// ---- refusal

type Refusal = { readonly refusalCode: string; readonly refusal: string };

/** Returns why a run cannot be started. Rethrows errors that a retry may resolve. */
async function refusalOf({ agents }: Parts, { agentId }: StartWorkRunRequest, error: unknown): Promise<Refusal> {
  if (error instanceof TargetGone) return { refusalCode: error.code, refusal: error.message };
  if (!(error instanceof AppError)) throw error;
  if (REPORTED_REASONS.has(error.reason)) return { refusalCode: error.reason, refusal: error.message };
  if (!PERMANENT_CODES.has(error.code)) throw error;
  if ((await agents.get(agentId)) === undefined) return { refusalCode: 'not_found', refusal: AGENT_GONE };
  if (error.code === 'INVALID_ARGUMENT' && !isOfPlace(error)) {
    return { refusalCode: 'invalid_input', refusal: error.message };
  }
  const refusal = error.reason === 'insufficient_scope' ? error.message : NO_RIGHT;
  return { refusalCode: 'permission_lost', refusal };
}

/** Returns whether the request was valid, and the agent no longer acts in the workspace. */
const isOfPlace = ({ faults }: AppError): boolean => faults.some(({ param }) => param === 'workspace_id');

const AGENT_GONE = 'The agent no longer exists.';
const NO_RIGHT = 'The agent may not work in the workspace for the person whose rights it would run with.';

// ---- results

function workRun(run: RunRecord): WorkRun {
  const { id, status, agentId, output, error, userId, createdAt, finishedAt = '' } = run;
  const cited = (output?.citations ?? []).map(({ resourceId, contentVersion }) => [resourceId, { contentVersion }]);
  const readable = new Map([
    ...(output?.resourceIds ?? []).map((one) => [one, { contentVersion: 0 }] as const),
    ...(cited as [string, { contentVersion: number }][]),
  ]);
  return {
    ...{ id, agentId, initiatorId: userId, createdAt, finishedAt },
    status: RunStatus[status.toUpperCase() as keyof typeof RunStatus],
    output: output && outputMessage(output, readable),
    errorCode: error?.code ?? '',
    errorMessage: error?.message ?? '',
    tainted: (run.taintSources ?? []).length > 0,
  };
}
