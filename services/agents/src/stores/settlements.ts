import { DEAD_INDEX, type JobRecord, type QueueSpec } from '@commonplace/kit/jobs';
import type { CollectionSpec } from '@commonplace/kit/store';
import type { Attribution, ChargeKey } from '../domain/charge.js';
import type { Spent } from './runs.js';

/** The job that charges an attempt which could not be charged before its run ended. */
export interface SettlementRecord extends JobRecord {
  readonly tenant: string;
  readonly key: ChargeKey;
  readonly about: Attribution;
  readonly spent: Spent;
  readonly dueAt?: string | undefined;
}

export const settlementCollection: CollectionSpec<SettlementRecord> = {
  name: 'run_settlements',
  indexes: [{ fields: ['dueAt'] }, { fields: ['tenant'] }, DEAD_INDEX],
};

export const settlementQueue: QueueSpec<SettlementRecord> = {
  name: 'agents.settlements',
  collection: settlementCollection,
  due: 'dueAt',
  describe: ({ key: { runId, step }, tenant }) => `charge of step ${step} of run ${runId} in ${tenant}`,
};
