import { AppError } from '@commonplace/kit/errors';
import type { DomainEvent, EventBus, Subscription } from '@commonplace/kit/events';
import { inWork } from '@commonplace/kit/store';
import { publishing } from '../../events.js';
import { recordUsage } from '../commands/charge.js';
import type { CreditParts } from '../parts.js';

const CONSUMED = ['commonplace.files.import.finished'];
const FREE = { inputTokens: 0, outputTokens: 0, credits: 0, requests: 1, isEstimated: false };

/** Counts every import that has finished as usage, which costs nothing. An import is counted once. */
export function watchImports(parts: CreditParts, bus: EventBus): Promise<Subscription> {
  return bus.subscribe({ consumer: 'tenancy.import-usage', types: CONSUMED }, async (events) => {
    for (const event of events) await countImport(parts, event);
  });
}

async function countImport(parts: CreditParts, { data, tenant = '' }: DomainEvent): Promise<void> {
  const { importId, workspaceId, userId, status } = data as Record<string, string | undefined>;
  if (!importId || status === 'canceled') return;
  const key = { sourceType: 'import', sourceId: importId, step: '', attempt: 0 } as const;
  const attribution = { feature: 'import', ...(workspaceId && { workspaceId }), ...(userId && { userId }) };
  try {
    await inWork(parts.store, (work) => recordUsage(parts, publishing(work), key, tenant, FREE, attribution));
  } catch (error) {
    // The tenant was deleted meanwhile, and nobody asks for its usage.
    if (!(error instanceof AppError && error.code === 'NOT_FOUND')) throw error;
  }
}
