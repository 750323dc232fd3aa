import { AppError } from '@commonplace/kit/errors';
import type { EventBus, Subscription } from '@commonplace/kit/events';
import { inWork } from '@commonplace/kit/store';
import { consume, type TypedEvent } from '@commonplace/platform/events';
import { publishing } from '../../events.js';
import { recordUsage } from '../commands/charge.js';
import type { CreditParts } from '../parts.js';

const FREE = { inputTokens: 0, outputTokens: 0, credits: 0, requests: 1, isEstimated: false };

/** Counts every finished import as usage without a price. An import is counted once. */
export function watchImports(parts: CreditParts, bus: EventBus): Promise<Subscription> {
  const spec = { consumer: 'tenancy.import-usage', events: ['files.import.finished'] } as const;
  return consume(bus, spec, (event) => countImport(parts, event));
}

type ImportFinished = TypedEvent<'files.import.finished'>;

async function countImport(parts: CreditParts, { data, tenant = '' }: ImportFinished): Promise<void> {
  const { importId, workspaceId, userId, status } = data;
  if (importId === '' || status === 'canceled') return;
  const key = { sourceType: 'import', sourceId: importId, step: '', attempt: 0 } as const;
  const attribution = { feature: 'import', ...(workspaceId && { workspaceId }), ...(userId && { userId }) };
  try {
    await inWork(parts.store, (work) => recordUsage(parts, publishing(work), key, tenant, FREE, attribution));
  } catch (error) {
    // The tenant was deleted meanwhile, so its usage is not needed.
    if (!(error instanceof AppError && error.code === 'NOT_FOUND')) throw error;
  }
}
