import { NOTHING_SPENT, type StepRecord } from '../../stores/runs.js';
import { spentOf } from '../model-call.js';
import { BYTES_PER_TOKEN } from '../prompt.js';
import type { ToolOutput } from '../step-log.js';
import { saveAttempt } from './model-turns.js';
import type { RunScope } from './scope.js';

/** Loads the steps, and charges what the last call of the model has cost if that was not done before its worker died. */
export async function loadSteps(scope: RunScope): Promise<void> {
  const { log, charges } = scope;
  await log.load();
  const last = log.steps.findLast(({ type }) => type === 'message');
  if (last?.status === 'running') await chargeBroken(scope, last);
  else if (last?.owed !== undefined) await charges.settle(last, last.owed);
}

/** Charges a call of which a dead worker left nothing but the reservation: as its prompt and what was saved of it. */
async function chargeBroken(scope: RunScope, step: StepRecord): Promise<void> {
  const { parts, job, log } = scope;
  const model = parts.models.find(job.record.model);
  // A model that is not configured any more has no rates.
  if (model === undefined) return saveAttempt(scope, { ...step, status: 'planned' }, NOTHING_SPENT);
  const { tokens } = (step.input ?? {}) as { readonly tokens?: number };
  const message = await parts.messages.get(job.record.messageId);
  const saved = message?.content ?? job.record.draft ?? '';
  const written = Buffer.byteLength(saved) - Buffer.byteLength(log.text);
  const output = Math.ceil(Math.max(written, 0) / BYTES_PER_TOKEN);
  await saveAttempt(scope, { ...step, status: 'planned' }, spentOf(model, tokens ?? 0, output, true));
}

/** Takes up the sources and citations that earlier steps have left. */
export function restoreSources({ log, sources, reply }: RunScope): void {
  for (const { type, output } of log.steps) {
    if (type !== 'tool_call' || output === undefined) continue;
    sources.restore((output as ToolOutput).sources);
    sources.drawFrom(output as ToolOutput);
  }
  reply.restore(log.lastTurn?.cited ?? []);
}
