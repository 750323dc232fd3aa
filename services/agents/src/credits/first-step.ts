import { costOf, estimateTokens, maxReplyTokens } from '../models/estimate.js';
import type { ChatModels } from '../models/port.js';
import type { RunRecord } from '../stores/runs.js';
import { attributionOf } from './attribution.js';
import type { Ledger } from './ledger.js';

/**
 * Throws `insufficient_credits` or `usage_cap_reached` if the credits do not cover the question and the longest reply
 * of a new run, and `service_unavailable` if the ledger cannot be reached.
 */
export async function requireFirstStep(
  { models, ledger }: { readonly models: ChatModels; readonly ledger: Ledger },
  run: Omit<RunRecord, 'version'>,
): Promise<void> {
  const model = models.find(run.model);
  if (model === undefined) return;
  const { info } = model;
  const { text = '', parameters = {} } = run.input ?? {};
  const data = Object.keys(parameters).length === 0 ? '' : JSON.stringify(parameters);
  const micros = costOf(info, estimateTokens(text + data), maxReplyTokens(info));
  if (micros > 0) await ledger.check(attributionOf(run), micros);
}
