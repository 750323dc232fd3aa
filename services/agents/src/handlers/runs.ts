import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Fault,
  InsufficientRole,
  InsufficientScope,
  invalidField,
  invalidFields,
  NotFound,
  namedBy,
} from '@commonplace/kit/errors';
import { isUuid } from '@commonplace/kit/id';
import { isObject, jsonBytes, readJson } from '@commonplace/kit/json';
import type { CallContext, Handlers } from '@commonplace/kit/rpc';
import { findBoundedPage, findPage, type Sort, timesWithin, type Where } from '@commonplace/kit/store';
import { isLongerThan } from '@commonplace/kit/words';
import { enumName } from '@commonplace/platform/enums';
import { type Run, RunSource, RunStatus } from '@commonplace/proto/agents/v1/run.js';
import {
  type CreateRunRequest,
  type ListRunsRequest,
  RunInclude,
  type RunService,
} from '@commonplace/proto/agents/v1/run_service.js';
import type { WorkItem } from '@commonplace/proto/automations/v1/work_item.js';
import { agentForRun } from '../agents/use.js';
import { parseCredits } from '../domain/micros.js';
import { distinctTaints, type TaintSource } from '../domain/taint.js';
import { RunNotCancelable, RunNotRetryable } from '../errors.js';
import type { Parts } from '../parts.js';
import {
  administers,
  choosePlace,
  openRun,
  openSession,
  placesReached,
  readWorkspace,
  requireUnarchived,
  seeRun,
} from '../policy.js';
import { readableAmong } from '../readable.js';
import { cancelRun } from '../runs/cancel.js';
import { warnOfDropped } from '../runs/dropped-messages.js';
import { taintsOfMessages } from '../runs/message-taints.js';
import { checkOutputSchema } from '../runs/output-schema.js';
import { startRun } from '../runs/start.js';
import { runTopic } from '../runs/topic.js';
import { viewOf, viewsOf } from '../runs/view.js';
import { watchRun } from '../runs/watch.js';
import { type AskedRun, addMessages, requireIdle, requireRoom, respond } from '../sessions/turn.js';
import { hasEnded, type RunEventRecord, type RunInput, type RunRecord, type StepRecord } from '../stores/runs.js';
import { readMetadata } from '../wire/metadata.js';
import { readPolicy } from '../wire/policy.js';
import { runMessage, stepMessages } from '../wire/runs.js';

export function createRunHandlers(parts: Parts): Handlers<RunService> {
  return {
    async listRuns(request, context) {
      const where = await visibleRuns(parts, request, context);
      return findBoundedPage(
        {
          collection: parts.runs,
          where,
          sort: SORTS[request.sort] ?? NEWEST_FIRST,
          present: async function* (runs) {
            yield* await presentAll(parts, runs, context);
          },
          bytesOf,
        },
        request.page,
      );
    },

    async createRun(request, context) {
      const run = await create(parts, request, context);
      warn(parts, context);
      const { waitSeconds = 0 } = request;
      if (waitSeconds > 0) {
        context.answerAfterCommit(async () => {
          await waitForChange(parts, run, waitSeconds, context);
          return present(parts, (await parts.runs.get(run.id)) ?? run, 'none', context);
        });
      }
      return present(parts, run, 'none', context);
    },

    async getRun({ runId, include, waitSeconds, step }, context) {
      let run = await seeRun(parts, runId, context);
      if (waitSeconds && !hasEnded(run)) {
        await waitForChange(parts, run, waitSeconds, context);
        run = await seeRun(parts, runId, context);
      }
      context.reply.retryAfter = pollSecondsOf(run);
      const steps = include.includes(RunInclude.STEPS) ? (step ?? 'all') : 'none';
      return present(parts, run, steps, context);
    },

    async listRunEvents({ runId, page: request }, context) {
      const run = await seeRun(parts, runId, context);
      const { items, page } = await findPage(parts.runEvents, { runId: run.id }, ['seq'], request);
      return { items: items.map(eventRecord), page };
    },

    watchRun: ({ runId, lastEventId }, context) => watchRun(parts, runId, lastEventId, context),

    async cancelRun({ runId, reason }, context) {
      const { run, isSeen } = await openRun(parts, runId, context);
      if (hasEnded(run) && run.status !== 'canceled') throw RunNotCancelable({ status: run.status });
      const canceled = await cancelRun(parts, run, reason, context);
      if (isSeen) return present(parts, canceled, 'none', context);
      // The agent's owner only learns that the run ends, and nothing of its content.
      return runMessage({ ...canceled, input: undefined, metadata: {} }, CLOSED);
    },
  };
}

/** Seconds after which a client should read a run again that is at work, and one that waits for people. */
const POLL_SECONDS = 1;
const WAITING_POLL_SECONDS = 10;

/** Returns the seconds after which a client should read a run again; undefined if it has ended. */
function pollSecondsOf(run: RunRecord): number | undefined {
  if (hasEnded(run)) return undefined;
  return run.status === 'awaiting_approval' ? WAITING_POLL_SECONDS : POLL_SECONDS;
}

// ---- creation

async function create(parts: Parts, request: CreateRunRequest, context: CallContext): Promise<RunRecord> {
  const faults: Fault[] = [];
  if (request.retryOf !== undefined && request.input.length > 0) {
    throw invalidField('input', 'ambiguous_target', 'must not be combined with retry_of.');
  }
  const again =
    request.retryOf === undefined ? undefined : await namedBy('retry_of', retried(parts, request.retryOf, context));
  const metadata = readMetadata(request.metadata, parts.settings.runMetadataBytes, faults);
  const input = again?.input ?? readInput(request.input, parts.settings, faults);
  const maxMicros = request.maxCredits === undefined ? again?.maxMicros : parseCredits(request.maxCredits);
  if (request.maxCredits !== undefined && maxMicros === undefined) {
    faults.push({
      param: 'max_credits',
      code: 'invalid_value',
      message: 'must be a decimal below 1,000,000,000 with up to six places.',
    });
  }
  const policy =
    request.approvalPolicy === undefined
      ? again?.policy
      : readPolicy(request.approvalPolicy, 'approval_policy', faults);
  if (faults.length > 0) throw invalidFields(faults);
  const agentId = agentOf(request, again);
  const outputSchema = request.outputSchema.length > 0 ? checkOutputSchema(request.outputSchema) : again?.outputSchema;
  const named = namedResources(request, input);
  await requireReadable(parts, named, context);
  const workItem = await workItemOf(parts, request, context);
  const asked = {
    ...{ policy, model: request.model ?? again?.model, outputSchema, maxMicros, retryOf: again?.id },
    ...{ maxSteps: request.maxSteps ?? again?.maxSteps, metadata: metadata ?? again?.metadata ?? {} },
    resourceIds: request.resourceIds.length > 0 ? [...named.keys()] : (again?.resourceIds ?? [...named.keys()]),
    inputTaints: await inputTaintsOf(parts, again, context),
  };
  if (request.sessionId !== undefined) return runInSession(parts, request, { input, agentId, asked }, context);
  const workspaceId = request.workspaceId ?? again?.workspaceId ?? workItem?.workspaceId;
  const use = agentId === undefined ? undefined : await agentForRun(parts, agentId, workspaceId, context);
  const place = await choosePlace(parts, { workspaceId: use?.workspaceId ?? workspaceId, orgId: undefined }, context);
  if (workItem !== undefined && workItem.workspaceId !== place.workspaceId)
    throw NotFound({}, { param: 'work_item_id' });
  const { run } = await startRun(
    parts,
    {
      ...{ ...asked, place, source: 'api', input, searches: true, agent: use?.agent },
      workItemId: workItem?.id ?? (again?.workspaceId === place.workspaceId ? again?.workItemId : undefined),
    },
    context,
  );
  return run;
}

const WORK_ITEM_SCOPE = 'work_item:read';

/** Returns the work item of a run. Throws `not_found` if the caller cannot see it. */
async function workItemOf(
  { workItems }: Pick<Parts, 'workItems'>,
  { workItemId, sessionId }: CreateRunRequest,
  { caller, onward }: CallContext,
): Promise<WorkItem | undefined> {
  if (workItemId === undefined) return undefined;
  if (sessionId !== undefined) {
    throw invalidField('work_item_id', 'ambiguous_target', 'work_item_id must not be combined with session_id.');
  }
  if (!caller.credential.scopes.includes(WORK_ITEM_SCOPE)) throw InsufficientScope({ scope: WORK_ITEM_SCOPE });
  return namedBy('work_item_id', workItems.getWorkItem({ workItemId, include: [] }, onward));
}

/** Returns the agent of a run: the named one, or that of the repeated run. */
function agentOf({ agentId }: CreateRunRequest, again: RunRecord | undefined): string | undefined {
  if (again === undefined || agentId === undefined || agentId === again.agentId) return agentId ?? again?.agentId;
  throw invalidField('agent_id', 'ambiguous_target', 'is another agent than that of the run to be repeated.');
}

interface SessionRun {
  readonly input: RunInput;
  readonly agentId: string | undefined;
  readonly asked: AskedRun;
}

const SESSION_SCOPE = 'chat_session:write';

/** Adds a question to a session and starts the reply to it. Throws if the request names another place or agent. */
async function runInSession(
  parts: Parts,
  { sessionId = '', workspaceId }: CreateRunRequest,
  { input, agentId, asked }: SessionRun,
  context: CallContext,
): Promise<RunRecord> {
  if (!context.caller.credential.scopes.includes(SESSION_SCOPE)) throw InsufficientScope({ scope: SESSION_SCOPE });
  const session = await namedBy('session_id', openSession(parts, sessionId, context));
  if (workspaceId !== undefined && workspaceId !== session.workspaceId) {
    throw invalidField('workspace_id', 'invalid_value', 'is not the workspace of the session.');
  }
  await requireUnarchived(parts, session, context);
  await requireIdle(parts, session, context);
  if (agentId !== undefined && agentId !== session.agentId) {
    throw invalidField('agent_id', 'invalid_value', 'is not the agent of the session.');
  }
  const given = { role: 'user', content: input.text, resourceIds: input.attachments } as const;
  await requireRoom(parts, session, 2, context);
  const turn = await addMessages(parts, session, [given], false, context);
  const [question] = turn.added;
  if (question === undefined) throw NotFound();
  const { attachments, parameters } = input;
  const next = await respond(parts, turn, question, context, { asked: { ...asked, attachments, parameters } });
  const changed = { updatedBy: context.actor, updatedAt: new Date().toISOString() };
  context.work.replace(parts.sessions, session, { ...next.session, ...changed });
  if (next.run === undefined) throw NotFound();
  return next.run;
}

const RETRYABLE: ReadonlySet<string> = new Set(['failed', 'expired', 'canceled']);

async function retried(parts: Parts, id: string, context: CallContext): Promise<RunRecord> {
  const run = await seeRun(parts, id, context);
  if (run.userId !== context.caller.userId && !(await administers(parts, run.workspaceId, context))) {
    throw InsufficientRole();
  }
  const { status, input } = run;
  if (!RETRYABLE.has(status)) throw RunNotRetryable({ status });
  if (input === undefined) throw RunNotRetryable({ status }, { message: 'The input of the run was erased.' });
  return run;
}

/**
 * Returns the taints of an input that is used again. The input of another person may be untrusted, like a message of
 * theirs.
 */
async function inputTaintsOf(
  parts: Parts,
  again: RunRecord | undefined,
  { caller }: CallContext,
): Promise<readonly TaintSource[] | undefined> {
  if (again === undefined || again.userId === caller.userId) return again?.inputTaints;
  const { userId: authorId, initiator, inputTaints = [], workspaceId = '' } = again;
  const author = { authorId, authorName: initiator.name, byAgent: false, runId: '' };
  const found = [...inputTaints, ...(await taintsOfMessages(parts, [author], workspaceId))];
  return found.length === 0 ? undefined : distinctTaints(found);
}

const MAX_TEXT = 100_000;
const MAX_ATTACHMENTS = 50;
/** Bytes of a character in JSON as the gateway writes it, at most: those of the escape of a control character. */
const MAX_CHARACTER_BYTES = 6;
/** Bytes of the ids of attachments and of the names of the fields, at most. */
const OTHER_INPUT_BYTES = 4096;

function readInput(
  bytes: Buffer,
  { runParametersBytes }: Pick<Parts['settings'], 'runParametersBytes'>,
  faults: Fault[],
): RunInput {
  const add = (param: string, code: string, message: string) => faults.push({ param, code, message });
  // An input that no text and parameters within their limits can have is refused before it is parsed.
  const maxBytes = MAX_CHARACTER_BYTES * MAX_TEXT + runParametersBytes + OTHER_INPUT_BYTES;
  if (bytes.length > maxBytes) {
    add('input', 'invalid_value', `may have at most ${maxBytes} bytes.`);
    return { text: '', attachments: [], parameters: {} };
  }
  const value = readJson(bytes);
  const object = typeof value === 'string' ? { text: value } : ((value ?? {}) as Record<string, unknown>);
  for (const name of Object.keys(object)) {
    if (!['text', 'attachments', 'parameters'].includes(name)) add(`input.${name}`, 'unknown_field', 'is not known.');
  }
  const { text, attachments = [], parameters = {} } = object as Record<string, unknown>;
  const param = typeof value === 'string' || value === undefined ? 'input' : 'input.text';
  if (typeof text !== 'string' || text.trim() === '') add(param, 'missing_field', 'must be a text.');
  else if (isLongerThan(text, MAX_TEXT)) add(param, 'invalid_value', `may have at most ${MAX_TEXT} characters.`);
  const isIds =
    Array.isArray(attachments) &&
    attachments.length <= MAX_ATTACHMENTS &&
    attachments.every((id) => isUuid(String(id)));
  if (!isIds) add('input.attachments', 'invalid_value', 'must be a list of up to 50 ids of resources.');
  if (!isObject(parameters)) {
    add('input.parameters', 'invalid_type', 'must be an object.');
  } else if (Buffer.byteLength(JSON.stringify(parameters)) > runParametersBytes) {
    add('input.parameters', 'invalid_value', `input.parameters may have at most ${runParametersBytes} bytes.`);
  }
  return {
    text: typeof text === 'string' ? text.trim() : '',
    attachments: isIds ? (attachments as string[]) : [],
    parameters: parameters as Record<string, unknown>,
  };
}

/** Returns the resources of a request, by the fields that name them. */
function namedResources(
  { resourceIds, retryOf }: CreateRunRequest,
  { attachments }: RunInput,
): ReadonlyMap<string, string> {
  const named = new Map<string, string>();
  const add = (id: string, param: string) => named.has(id) || named.set(id, param);
  for (const [i, id] of resourceIds.entries()) add(id, `resource_ids[${i}]`);
  for (const [i, id] of attachments.entries()) add(id, retryOf === undefined ? `input.attachments[${i}]` : 'retry_of');
  return named;
}

async function requireReadable(parts: Parts, named: ReadonlyMap<string, string>, context: CallContext): Promise<void> {
  if (named.size === 0) return;
  const readable = await readableAmong(parts, [...named.keys()], context);
  for (const [id, param] of named) if (!readable.has(id)) throw NotFound({}, { param });
}

function warn({ models }: Parts, { reply }: CallContext): void {
  if (models.isConfigured) return;
  const message = 'No language model is configured: the answer quotes passages that were found.';
  reply.warnings = [...(reply.warnings ?? []), { code: 'no_model_configured', message }];
}

// ---- waiting

/** Waits until the status of a run changes, or for `seconds` at most. */
async function waitForChange(
  parts: Parts,
  { id, status }: RunRecord,
  seconds: number,
  context: CallContext,
): Promise<void> {
  const until = Math.min(Date.now() + seconds * 1000, context.deadline - SPARE_MS);
  let wake = new AbortController();
  const listener = await parts.bus.listen(runTopic(id), () => wake.abort());
  try {
    while (Date.now() < until && !context.signal.aborted) {
      wake = new AbortController();
      const run = await parts.runs.get(id);
      if (run === undefined || run.status !== status) return;
      const waitMs = Math.min(until - Date.now(), POLL_MS);
      const signal = AbortSignal.any([wake.signal, context.signal]);
      await sleep(Math.max(waitMs, 1), undefined, { signal, ref: false }).catch(() => {});
      await sleep(MIN_GAP_MS, undefined, { ref: false });
    }
  } finally {
    await listener.close();
  }
}

const SPARE_MS = 1_000;
const POLL_MS = 1_000;
const MIN_GAP_MS = 20;

// ---- reading

const NEWEST_FIRST: Sort<RunRecord> = ['-createdAt'];

const SORTS: Readonly<Record<string, Sort<RunRecord>>> = { created_at: ['createdAt'], '-created_at': NEWEST_FIRST };

/** Returns the filter for the caller's own runs, or for all of a workspace that they name and administer. */
async function visibleRuns(parts: Parts, request: ListRunsRequest, context: CallContext): Promise<Where<RunRecord>> {
  const { workspaceId, agentId, sessionId, createdBy } = request;
  const userId = context.caller.userId;
  const isAdmin = workspaceId !== undefined && (await administersNamed(parts, workspaceId, context));
  const startedBy: Where<RunRecord> = isAdmin ? {} : { userId };
  return {
    ...(workspaceId === undefined ? await inReach(parts, context) : { workspaceId }),
    // Others than administrators see their own runs only, whomever they name.
    and: [startedBy, createdBy === undefined ? {} : { userId: createdBy }],
    ...(agentId !== undefined && { agentId }),
    ...(sessionId !== undefined && { sessionId }),
    ...timesWithin(request),
    ...(request.status !== RunStatus.UNSPECIFIED && {
      status: enumName(request.status, 'RUN_STATUS'),
    }),
    ...(request.source !== RunSource.UNSPECIFIED && {
      source: enumName(request.source, 'RUN_SOURCE'),
    }),
  };
}

/** Returns whether the caller administers a workspace that a request names. Throws if they cannot read it. */
async function administersNamed(parts: Parts, workspaceId: string, context: CallContext): Promise<boolean> {
  await readWorkspace(parts, workspaceId, context);
  return administers(parts, workspaceId, context);
}

/** Returns the filter for runs in places to which the caller still belongs, like those that they may get by id. */
async function inReach({ memberships }: Parts, { caller, onward }: CallContext): Promise<Where<RunRecord>> {
  const { workspaceIds, orgIds } = placesReached(await memberships.of(caller.userId, onward), caller);
  return {
    or: [{ workspaceId: { in: workspaceIds } }, { workspaceId: { exists: false }, orgId: { in: orgIds } }],
  };
}

/** Returns a run as the caller may see it, with the steps that they ask for: one of them is shown whole. */
async function present(
  parts: Parts,
  run: RunRecord,
  wanted: 'all' | 'none' | number,
  context: CallContext,
): Promise<Run> {
  warnOfDropped(run.droppedMessages, context);
  const found =
    wanted === 'none' ? [] : await parts.steps.find({ where: { runId: run.id }, sort: ['seq'], limit: 1_000 });
  const steps = typeof wanted === 'number' ? found.filter(({ seq }) => seq === wanted) : found;
  if (typeof wanted === 'number' && steps.length === 0) throw NotFound({}, { param: 'step' });
  const url = `${parts.settings.publicUrl}/api/v1/agent-runs/${run.id}?include=steps&step=`;
  const view = {
    // What the reader may see depends on all steps.
    ...(await viewOf(parts, run, found, context)),
    urlOfStep: wanted === 'all' ? ({ seq }: StepRecord) => url + seq : undefined,
    queuePosition: await positionOf(parts, run),
  };
  return runMessage(run, view, await stepMessages(steps, view));
}

async function presentAll(parts: Parts, runs: readonly RunRecord[], context: CallContext): Promise<Run[]> {
  const views = await viewsOf(parts, runs, context);
  const positions = await Promise.all(runs.map((run) => positionOf(parts, run)));
  return runs.map((run, i) => runMessage(run, { ...(views[i] ?? CLOSED), queuePosition: positions[i] }));
}

/** Returns the bytes of the parts of a run that may be large. */
function bytesOf({ input, output, metadata }: Run): number {
  const texts = Buffer.byteLength(input?.text ?? '') + Buffer.byteLength(output?.text ?? '');
  return texts + (input?.parameters.length ?? 0) + (output?.data.length ?? 0) + metadata.length;
}

const CLOSED = { readable: new Map(), isOpen: false };

async function positionOf({ runs }: Parts, { id, status, tenant, createdAt }: RunRecord): Promise<number | undefined> {
  if (status !== 'queued') return undefined;
  const ahead = [{ createdAt: { lt: createdAt } }, { createdAt, id: { lt: id } }];
  return runs.count({ status: 'queued', tenant, or: ahead }, MAX_POSITION);
}

/** Maximum position in the queue that is counted. */
const MAX_POSITION = 1_000;

function eventRecord({ runId: _, seq, type, data, at }: RunEventRecord) {
  return { id: String(seq * 1_000_000), type, data: jsonBytes(snakeCase(data)), createdAt: at };
}

function snakeCase(data: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const name = (key: string) => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [name(key), value]));
}
