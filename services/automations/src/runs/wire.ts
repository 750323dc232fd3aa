import { jsonBytes } from '@commonplace/kit/json';
import { createBreathe } from '@commonplace/kit/slices';
import { actorMessage } from '@commonplace/platform/actors';
import { enumValue } from '@commonplace/platform/enums';
import {
  ActionType,
  type AutomationError,
  type AutomationRun,
  AutomationRunStatus,
  type AutomationStep,
  AutomationStepStatus,
  TriggerType,
} from '@commonplace/proto/automations/v1/automation.js';
import { withoutData } from './failure.js';
import type { AutomationRunRecord, RunFailure, StepRecord } from './records.js';

/** The parts of a run that its reader may see. */
export interface RunView {
  /** Whether the input of the run is shown. */
  readonly showsInput: boolean;
  /**
   * Whether the inputs and outputs of steps are shown, which were read with a person's rights, and messages of errors, which
   * may repeat them.
   */
  readonly showsData: boolean;
}

const NOTHING = Buffer.alloc(0);

/** Returns the message of a run. What its steps have read is written as JSON with pauses, as it may be megabytes. */
export async function runMessage(
  run: AutomationRunRecord,
  steps: readonly StepRecord[],
  { showsInput, showsData }: RunView,
): Promise<AutomationRun> {
  const { trigger, input, data } = run;
  const breathe = createBreathe();
  const messages: AutomationStep[] = [];
  for (const step of steps) {
    messages.push(stepMessage(step, showsData));
    await breathe();
  }
  return {
    id: run.id,
    automationId: run.automationId,
    workspaceId: run.workspaceId,
    automationVersion: run.definitionVersion,
    status: enumValue(AutomationRunStatus, run.status),
    trigger: {
      type: enumValue(TriggerType, trigger.type),
      eventId: trigger.eventId,
      by: actorMessage(trigger.by),
      scheduleId: trigger.scheduleId,
      scheduledFor: trigger.scheduledFor,
    },
    input: input === undefined || !showsInput ? NOTHING : jsonBytes({ ...input, ...(showsData ? data : {}) }),
    steps: messages,
    error: run.error && errorMessage(run.error, showsData),
    skipReason: run.skipReason,
    dryRun: run.dryRun,
    retryOf: run.retryOf,
    chain: [...run.chain],
    createdAt: run.createdAt,
    startedAt: run.startedAt,
    finishedAt: run.finishedAt,
    version: run.version,
  };
}

function stepMessage(step: StepRecord, showsData: boolean): AutomationStep {
  return {
    actionId: step.actionId,
    type: enumValue(ActionType, step.type),
    status: enumValue(AutomationStepStatus, step.status),
    attempt: step.attempt,
    input: showsData ? jsonBytes(step.input) : NOTHING,
    output: showsData ? jsonBytes(step.output) : NOTHING,
    error: step.error && errorMessage(step.error, showsData),
    startedAt: step.startedAt,
    durationMs: step.durationMs,
    resumesAt: step.resumesAt,
    agentRunId: step.agentRunId,
    truncated: step.truncated,
  };
}

function errorMessage(failure: RunFailure, showsData: boolean): AutomationError {
  const { code, message, actionId, retryable } = showsData ? failure : withoutData(failure);
  return { code, message, actionId, retryable };
}
