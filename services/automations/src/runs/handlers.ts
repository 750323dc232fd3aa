import { InsufficientRole, invalidField, LimitReached, NotFound, WorkspaceArchived } from '@commonplace/kit/errors';
import { newId } from '@commonplace/kit/id';
import { isObject } from '@commonplace/kit/json';
import type { CallContext, Handlers } from '@commonplace/kit/rpc';
import { findBoundedPage, timesWithin, type Where } from '@commonplace/kit/store';
import { enumName } from '@commonplace/platform/enums';
import { type AutomationRun, AutomationRunStatus } from '@commonplace/proto/automations/v1/automation.js';
import type {
  AutomationService,
  ListAutomationRunsRequest,
  RunAutomationRequest,
} from '@commonplace/proto/automations/v1/automation_service.js';
import { type ActsAs, rightsOfCaller } from '../acts-as.js';
import { AutomationInactive } from '../definitions/errors.js';
import type { AutomationRecord } from '../definitions/records.js';
import { isLoop } from '../domain/chain.js';
import { mayEdit, type Place, readPlace } from '../policy.js';
import { CANCEL_TOPIC, cancelRun, hasEnded } from './cancel.js';
import { RunNotCancelable } from './errors.js';
import { tooLarge } from './json.js';
import type { RunParts } from './parts.js';
import { type AutomationRunRecord, laneCollection, type StepRecord } from './records.js';
import { retryRun } from './retry.js';
import { startRun } from './start.js';
import { viewsOf } from './view.js';
import { runMessage } from './wire.js';

/** The handlers for runs. Those for definitions implement the rest of the same contract. */
export type RunHandlers = Pick<
  Handlers<AutomationService>,
  'runAutomation' | 'listAutomationRuns' | 'getAutomationRun' | 'cancelAutomationRun' | 'retryAutomationRun'
>;

/** An automation whose runs the caller can read. */
interface Access {
  readonly automation: AutomationRecord;
  readonly place: Place;
}

export function createRunHandlers(parts: RunParts): RunHandlers {
  return {
    async runAutomation(request, context) {
      await context.inTurn(laneCollection.name, request.automationId);
      const access = await editing(await seeAutomation(parts, request.automationId, context));
      return present(parts, await run(parts, access, request, context), access, context);
    },

    async listAutomationRuns(request, context) {
      const access = await seeAutomation(parts, request.automationId, context);
      const { items, page } = await findBoundedPage(
        {
          ...{ collection: parts.runs, where: runsWhere(request), sort: ['-createdAt'] },
          present: (runs) => presentAll(parts, runs, access, context),
          bytesOf: ({ bytes }) => bytes,
        },
        request.page,
      );
      return { items: items.map(({ message }) => message), page };
    },

    async getAutomationRun({ automationId, runId }, context) {
      const access = await seeAutomation(parts, automationId, context);
      return present(parts, await readRun(parts, automationId, runId), access, context);
    },

    async cancelAutomationRun({ automationId, runId, reason }, context) {
      await context.inTurn(laneCollection.name, automationId);
      const access = await editing(await seeAutomation(parts, automationId, context));
      const found = await readRun(parts, automationId, runId);
      if (hasEnded(found) && found.status !== 'canceled') throw RunNotCancelable({ status: found.status });
      const canceled = await cancelRun(parts, context.work, found, reason);
      if (!hasEnded(canceled)) context.afterCommit(() => parts.bus.broadcast(CANCEL_TOPIC, runId));
      return present(parts, canceled, access, context);
    },

    async retryAutomationRun({ automationId, runId, from, useCurrent }, context) {
      await context.inTurn(laneCollection.name, automationId);
      const access = await editing(await seeAutomation(parts, automationId, context));
      const found = await readRun(parts, automationId, runId);
      if (!access.automation.isActive && !found.dryRun) throw AutomationInactive();
      await requireRoom(parts, access.automation);
      const view = (await viewsOf(parts, [found], access.place, context))(found);
      const options = { from: from === 'start' ? 'start' : 'failed', useCurrent, view } as const;
      return present(parts, await retryRun(parts, access.automation, found, options, context), access, context);
    },
  };
}

async function seeAutomation(parts: RunParts, id: string, context: CallContext): Promise<Access> {
  const automation = await parts.automations.get(id);
  if (automation === undefined) throw NotFound();
  return { automation, place: await readPlace(parts, automation.workspaceId, context) };
}

async function editing(access: Access): Promise<Access> {
  if (!mayEdit(access.place)) throw InsufficientRole();
  if (access.place.archived) throw WorkspaceArchived();
  return access;
}

/** Returns a run of an automation. Throws `NotFound` if the run belongs to another automation. */
async function readRun({ runs }: RunParts, automationId: string, runId: string): Promise<AutomationRunRecord> {
  const run = await runs.get(runId);
  if (run === undefined || run.automationId !== automationId) throw NotFound();
  return run;
}

// ---- starting

async function run(
  parts: RunParts,
  { automation }: Access,
  { input: bytes, dryRun }: RunAutomationRequest,
  context: CallContext,
): Promise<AutomationRunRecord> {
  if (!automation.isActive && !dryRun) throw AutomationInactive();
  if (!dryRun) await requireRoom(parts, automation);
  const { automationInputBytes: limit } = parts.settings;
  if (bytes.length > limit) throw invalidField('input', 'invalid_value', `input ${tooLarge(limit)}`);
  const value: unknown = bytes.length === 0 ? {} : JSON.parse(bytes.toString());
  const given = isObject(value) ? value : {};
  const { chain = [] } = context.caller;
  const request = {
    id: newId(),
    trigger: { type: 'manual', by: context.actor },
    input: dryRun ? { input: given, ...standIns(given) } : { input: given },
    ...{
      chain,
      dryRun,
      ...actsAsOf(automation, context),
      ...(!dryRun && isLoop(chain, automation.id) && { skipReason: 'loop' as const }),
    },
  } as const;
  return startRun(parts, automation, request, context.work, parts.now());
}

/** Throws if the run would be skipped because too many runs wait. */
async function requireRoom({ lanes, settings }: RunParts, { id, definition }: AutomationRecord): Promise<void> {
  if (definition.concurrency === 'skip') return;
  const { active = 0, queued = 0 } = (await lanes.get(id)) ?? {};
  const waiting = definition.concurrency === 'queue' ? queued : active - 1;
  if (waiting >= settings.automationQueue)
    throw LimitReached({ limit: settings.automationQueue, what: 'runs that wait' });
}

function actsAsOf({ definition }: AutomationRecord, { caller }: CallContext): { readonly actsAs?: ActsAs } {
  if (definition.runAs === 'creator') return {};
  return { actsAs: rightsOfCaller(caller) };
}

const STAND_INS = ['event', 'resource', 'row', 'form', 'webhook', 'message', 'work_item'] as const;

/** Returns the fields of a dry run's input that replace data of a trigger. */
const standIns = (given: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(STAND_INS.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]])));

// ---- reading

function runsWhere({ automationId, status, ...times }: ListAutomationRunsRequest): Where<AutomationRunRecord> {
  return {
    automationId,
    ...(status !== AutomationRunStatus.UNSPECIFIED && {
      status: enumName(status, 'AUTOMATION_RUN_STATUS'),
    }),
    ...timesWithin(times),
  };
}

/** Maximum number of steps of a run; each action has one. */
const MAX_STEPS = 100;

const stepsOf = ({ steps }: RunParts, { id, stepCount }: AutomationRunRecord): Promise<StepRecord[]> | StepRecord[] =>
  stepCount === 0 ? [] : steps.find({ where: { runId: id }, sort: ['seq'], limit: MAX_STEPS });

async function present(
  parts: RunParts,
  run: AutomationRunRecord,
  { place }: Access,
  context: CallContext,
): Promise<AutomationRun> {
  const viewOf = await viewsOf(parts, [run], place, context);
  return runMessage(run, await stepsOf(parts, run), viewOf(run));
}

/** A run of a list, and the bytes of its data, which were read even if the caller does not see them. */
interface ListedRun {
  readonly message: AutomationRun;
  readonly bytes: number;
}

async function* presentAll(
  parts: RunParts,
  runs: readonly AutomationRunRecord[],
  { place }: Access,
  context: CallContext,
): AsyncGenerator<ListedRun> {
  const viewOf = await viewsOf(parts, runs, place, context);
  for (const run of runs) {
    const steps = await stepsOf(parts, run);
    const whole = await runMessage(run, steps, { showsInput: true, showsData: true });
    const view = viewOf(run);
    const message = view.showsData ? whole : await runMessage(run, steps, view);
    yield { message, bytes: bytesOf(whole) };
  }
}

const bytesOf = ({ input, steps }: AutomationRun): number =>
  steps.reduce((sum, step) => sum + step.input.length + step.output.length, input.length);
