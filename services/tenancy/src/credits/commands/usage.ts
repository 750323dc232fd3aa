import { derivedId } from '@commonplace/kit/id';
import type { UnitOfWork } from '@commonplace/kit/store';
import type { Micros } from '../domain/amounts.js';
import { startOf } from '../domain/periods.js';
import type { CreditParts } from '../parts.js';
import type { Attribution } from '../records.js';

export interface Consumption {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly credits: Micros;
  /** Number of requests that are charged together. */
  readonly requests: number;
  /** Whether the tokens were estimated, not counted by the provider. */
  readonly isEstimated: boolean;
}

/** Adds usage to the counts of the present hour and day. Concurrent calls do not conflict. */
export function addUsage(
  { usage }: Pick<CreditParts, 'usage'>,
  work: UnitOfWork,
  tenant: string,
  attribution: Attribution,
  { inputTokens, outputTokens, credits, requests }: Consumption,
  now: string,
): void {
  const { feature, model, agentId, workspaceId, userId, apiKeyId } = attribution;
  const dimensions = [feature, model, agentId, workspaceId, userId, apiKeyId].map((value) => value ?? null);
  for (const interval of ['hour', 'day'] as const) {
    const at = startOf(now, interval);
    const id = derivedId(`usage:${JSON.stringify([tenant, interval, at, ...dimensions])}`);
    const fixed = { tenant, interval, at, ...attribution };
    work.increment(usage, id, 'inputTokens', inputTokens, fixed);
    work.increment(usage, id, 'outputTokens', outputTokens, fixed);
    work.increment(usage, id, 'credits', credits, fixed);
    work.increment(usage, id, 'requests', requests, fixed);
  }
}
