import { openQueue, type Queue } from '@commonplace/kit/jobs';
import type { Log } from '@commonplace/kit/log';
import { type Collection, inWork, type Store } from '@commonplace/kit/store';
import type { Attribution, ChargeKey } from '../domain/charge.js';
import type { Spent } from '../stores/runs.js';
import { type SettlementRecord, settlementQueue } from '../stores/settlements.js';
import type { Ledger } from './ledger.js';

const RETRY_DEAD_MS = 600_000;

/** Dependencies for charging later. */
interface Settlements {
  readonly store: Store;
  readonly settlements: Collection<SettlementRecord>;
}

/** Enqueues the charge of an attempt until the ledger can be reached, independently of its run. */
export async function settleLater(
  { store, settlements }: Settlements,
  key: ChargeKey,
  about: Attribution,
  spent: Spent,
): Promise<void> {
  const id = `${key.runId}:${key.step}:${key.attempt}`;
  await inWork(store, async (work) => {
    if ((await work.get(settlements, id)) !== undefined) return;
    work.insert(settlements, { id, tenant: about.tenant, key, about, spent, dueAt: new Date().toISOString() });
  });
}

interface SettlementParts {
  readonly store: Store;
  readonly log: Log;
  readonly ledger: Ledger;
}

/** Opens the queue of charges that failed before. Charging an attempt twice has no further effect. */
export function openSettlementQueue({ store, log, ledger }: SettlementParts): Promise<Queue<SettlementRecord>> {
  return openQueue<SettlementRecord>({
    ...{ store, log, spec: settlementQueue, concurrency: 4, retryDeadAfterMs: RETRY_DEAD_MS },
    async run(job) {
      const { key, about, spent } = job.record;
      await ledger.settle(key, about, spent);
      await job.remove();
    },
  });
}
