import type { Caller } from '@commonplace/kit/auth';
import { newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import type { AutomationRecord, Definition } from '../definitions/records.js';
import { RunNotRetryable } from './errors.js';
import type { RunParts } from './parts.js';
import { type AutomationRunRecord, type StepRecord, stepId } from './records.js';
import { deleteStepAfter } from './retention.js';
import { type RunRequest, startRun } from './start.js';
import { versionOf } from './version.js';

export interface RetryOptions {
  readonly from: 'failed' | 'start';
  readonly useCurrent: boolean;
}

/** Starts a run that repeats one which has failed or was canceled, in the unit of the call. */
export async function retryRun(
  parts: RunParts,
  automation: AutomationRecord,
  before: AutomationRunRecord,
  { from, useCurrent }: RetryOptions,
  context: CallContext,
): Promise<AutomationRunRecord> {
  const { status, input } = before;
  if (status !== 'failed' && status !== 'canceled') throw RunNotRetryable({ why: `its status is ${status}` });
  if (input === undefined) throw RunNotRetryable({ why: 'its input has been erased' });
  const pinned = await versionOf(parts, before, automation);
  const definition = useCurrent ? automation.definition : pinned;
  if (definition === undefined || pinned === undefined)
    throw RunNotRetryable({ why: 'its version is not kept any more' });
  const id = newId();
  const kept = from === 'start' ? undefined : await keptOf(parts, before, pinned, definition, useCurrent);
  const { trigger, taints, chain, dryRun } = before;
  const request: RunRequest = {
    ...{ id, trigger, input, taints, chain, dryRun, retryOf: before.id, from: kept?.from },
    actsAs: actsAsOf(before, definition, useCurrent, context.caller),
    definitionVersion: useCurrent ? automation.definitionVersion : before.definitionVersion,
  };
  const run = await startRun(parts, automation, request, context.work, parts.now());
  const deleteAt = deleteStepAfter(parts.settings, definition, parts.now());
  for (const [seq, step] of (kept?.steps ?? []).entries()) {
    context.work.insert(parts.steps, { ...step, id: stepId(id, seq), runId: id, seq, deleteAt });
  }
  return run;
}

/** Nobody lends the rights of a person who has triggered a run to what somebody else makes of it later. */
function actsAsOf(
  { actsAs }: AutomationRunRecord,
  definition: Definition,
  useCurrent: boolean,
  { userId, userName, credential }: Caller,
): AutomationRunRecord['actsAs'] {
  if (definition.runAs === 'creator') return useCurrent ? definition.actsAs : actsAs;
  return { userId, userName, credentialId: credential.id, scopes: [...credential.scopes] };
}

/** Returns where the run goes on, and the steps that it keeps. */
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
  if (position < 0) throw RunNotRetryable({ why: `the automation has no action ${action?.id} any more` });
  const kept = found.filter(({ actionId }) => actionId !== action?.id);
  const again = found.find(({ actionId }) => actionId === action?.id);
  // A repetition that was canceled before it came to the action has no step of it.
  const keptKey = useCurrent ? undefined : again === undefined ? before.keptKey : keptKeyOf(again);
  return { steps: kept, from: { position, stepCount: kept.length, data: before.data, keptKey } };
}

/** Returns the key of a step that may have taken effect without an answer, so that it does not take effect twice. */
function keptKeyOf(step: StepRecord | undefined): AutomationRunRecord['keptKey'] {
  if (step === undefined || step.type === 'run_agent') return undefined;
  const { status, error, actionId, key } = step;
  return status === 'canceled' || error?.retryable ? { actionId, key } : undefined;
}
