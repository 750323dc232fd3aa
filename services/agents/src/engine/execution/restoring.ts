import { tokensOfBytes } from '../../models/estimate.js';
import { NOTHING_SPENT, type StepRecord } from '../../stores/runs.js';
import { spentOf } from '../model-call.js';
import type { ToolOutput } from '../step-log.js';
import { saveAttempt } from './model-turns.js';
import type { RunScope } from './scope.js';

/** Loads the steps. Charges the last call of the model if its worker died before charging it. */
export async function loadSteps(scope: RunScope): Promise<void> {
  const { log, charges } = scope;
  await log.load();
  const last = log.steps.findLast(({ type }) => type === 'message');
  if (last?.status === 'running') await chargeBroken(scope, last);
  else if (last?.owed !== undefined) await charges.settle(last, last.owed);
}

/** Charges a call whose worker died, leaving only the reservation, by its prompt and the saved text. */
async function chargeBroken(scope: RunScope, step: StepRecord): Promise<void> {
  const { parts, job, log } = scope;
  const model = parts.models.find(job.record.model);
  // A model that is no longer configured has no rates, so nothing is charged.
  if (model === undefined) return saveAttempt(scope, { ...step, status: 'planned' }, NOTHING_SPENT);
  const { tokens } = (step.input ?? {}) as { readonly tokens?: number };
  const message = await parts.messages.get(job.record.messageId);
  const saved = message?.content ?? job.record.draft ?? '';
  // Each turn of a run with a JSON result replaces the text of the one before.
  const kept = job.record.outputSchema === undefined ? log.text : '';
  const written = Buffer.byteLength(saved) - Buffer.byteLength(kept);
  const output = tokensOfBytes(Math.max(written, 0));
  await saveAttempt(scope, { ...step, status: 'planned' }, spentOf(model, tokens ?? 0, output, true));
}

/** Restores the sources and citations of earlier steps. */
export function restoreSources({ log, sources, reply }: RunScope): void {
  for (const { type, output } of log.steps) {
    if (type !== 'tool_call' || output === undefined) continue;
    sources.restore((output as ToolOutput).sources);
    sources.drawFrom(output as ToolOutput);
  }
  reply.restore(log.lastTurn?.cited ?? []);
}
