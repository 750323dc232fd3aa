import type { Caller } from '@commonplace/kit/auth';
import { newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import { rightsOfCaller } from '../acts-as.js';
import type { AutomationRecord, Definition } from '../definitions/records.js';
import { RunNotRetryable } from './errors.js';
import type { RunParts } from './parts.js';
import { type AutomationRunRecord, type StepRecord, stepId } from './records.js';
import { deleteStepAfter } from './retention.js';
import { type RunRequest, startRun } from './start.js';
import { versionOf } from './version.js';
import type { RunView } from './wire.js';

interface RetryOptions {
  readonly from: 'failed' | 'start';
  readonly useCurrent: boolean;
  /** What the caller may see of the run that is repeated. */
  readonly view: RunView;
}

/**
 * Repeats a failed or canceled run as a new run, in the unit of work of the call. The new run takes over input and outputs
 * of the former one, which are shown to the person whom it acts for. If that is another person, it has to be the caller,
 * and they have to see these already.
 */
export async function retryRun(
  parts: RunParts,
  automation: AutomationRecord,
  before: AutomationRunRecord,
  { from, useCurrent, view }: RetryOptions,
  context: CallContext,
): Promise<AutomationRunRecord> {
  const { status, input } = before;
  if (status !== 'failed' && status !== 'canceled') throw RunNotRetryable({ why: `its status is ${status}` });
  if (input === undefined) throw RunNotRetryable({ why: 'its input has been erased' });
  const pinned = await versionOf(parts, before, automation);
  const definition = useCurrent ? automation.definition : pinned;
  if (definition === undefined || pinned === undefined)
    throw RunNotRetryable({ why: 'its version is no longer stored' });
  const actsAs = actsAsOf(before, definition, useCurrent, context.caller);
  const sees = from === 'start' ? view.showsInput : view.showsData;
  if (actsAs.userId !== before.actsAs.userId && (actsAs.userId !== context.caller.userId || !sees)) {
    throw RunNotRetryable({ why: 'it acted for another person, whose data the new one would show' });
  }
  const id = newId();
  const kept = from === 'start' ? undefined : await keptOf(parts, before, pinned, definition, useCurrent);
  const { trigger, taints, chain, dryRun } = before;
  const request: RunRequest = {
    ...{ id, trigger, input, taints, chain, dryRun, retryOf: before.id, from: kept?.from },
    actsAs,
    definitionVersion: useCurrent ? automation.definitionVersion : before.definitionVersion,
  };
  const run = await startRun(parts, automation, request, context.work, parts.now());
  const deleteAt = deleteStepAfter(parts.settings, definition, parts.now());
  for (const [seq, step] of (kept?.steps ?? []).entries()) {
    context.work.insert(parts.steps, { ...step, id: stepId(id, seq), runId: id, seq, deleteAt });
  }
  return run;
}

/**
 * Returns the rights of the repeated run. If the automation runs with the rights of whoever triggers it, these are the
 * caller's, so that a run cannot be repeated with another person's rights.
 */
function actsAsOf(
  { actsAs }: AutomationRunRecord,
  definition: Definition,
  useCurrent: boolean,
  caller: Caller,
): AutomationRunRecord['actsAs'] {
  if (definition.runAs === 'creator') return useCurrent ? definition.actsAs : actsAs;
  return rightsOfCaller(caller);
}

/** Returns the position where the repeated run begins, and the steps that it keeps. */
async function keptOf(
  { steps }: Pick<RunParts, 'steps'>,
  before: AutomationRunRecord,
  pinned: Definition,
  definition: Definition,
  useCurrent: boolean,
) {
  const action = pinned.actions[before.position];
  const found = await steps.find({ where: { runId: before.id }, sort: ['seq'], limit: 100 });
  const position =
    action === undefined ? definition.actions.length : definition.actions.findIndex(({ id }) => id === action.id);
  if (position < 0) throw RunNotRetryable({ why: `the automation no longer has the action ${action?.id}` });
  const kept = found.filter(({ actionId }) => actionId !== action?.id);
  const again = found.find(({ actionId }) => actionId === action?.id);
  // The repeated run may itself be a repetition that was canceled before this action, and has no step for it.
  const keptKey = useCurrent ? undefined : again === undefined ? before.keptKey : keptKeyOf(again);
  return { steps: kept, from: { position, stepCount: kept.length, data: before.data, keptKey } };
}

/** Returns the key of a step that may have taken effect, so that it does not take effect twice. */
function keptKeyOf(step: StepRecord | undefined): AutomationRunRecord['keptKey'] {
  if (step === undefined || step.type === 'run_agent') return undefined;
  const { status, error, actionId, key } = step;
  return status === 'canceled' || error?.retryable ? { actionId, key } : undefined;
}
