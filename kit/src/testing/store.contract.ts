import { afterAll, beforeAll, describe } from '@jest/globals';
import { quotaDuties } from './quota.contract.js';
import { alternativeDuties } from './store/alternatives.js';
import { concurrencyDuties } from './store/concurrency.js';
import { conditionDuties } from './store/conditions.js';
import { durabilityDuties } from './store/durability.js';
import { expectationDuties } from './store/expectations.js';
import { type Bench, createBench, type StoreHarness } from './store/harness.js';
import { indexDuties } from './store/indexes.js';
import { jobDuties } from './store/jobs.js';
import { outboxDuties } from './store/outbox.js';
import { pagingDuties } from './store/paging.js';
import { rangeDuties } from './store/ranges.js';
import { recordDuties } from './store/records.js';
import { tallyDuties } from './store/tallies.js';
import { uniqueDuties } from './store/unique.js';
import { unitDuties } from './store/units.js';
import { createDuties, type OptOuts } from './suite/duties.js';

export type { StoreHarness } from './store/harness.js';

/** Tests an adapter of the store for each duty of `store/port.ts`. */
export function storeContract(name: string, open: () => Promise<StoreHarness>, optOuts: OptOuts = {}): void {
  describe(`store on ${name}`, () => {
    let bench: Bench | undefined;
    beforeAll(async () => {
      bench = createBench(await open());
    });
    afterAll(async () => {
      await bench?.close();
    });
    const duty = createDuties(optOuts);
    const use = (): Bench => {
      if (bench === undefined) throw new Error('the store did not open');
      return bench;
    };
    describe('records', () => recordDuties(duty, use));
    describe('conditions', () => conditionDuties(duty, use));
    describe('alternatives', () => alternativeDuties(duty, use));
    describe('order and pages', () => pagingDuties(duty, use));
    describe('counts and sums', () => tallyDuties(duty, use));
    describe('indexes', () => indexDuties(duty, use));
    describe('units of work', () => unitDuties(duty, use));
    describe('expectations', () => expectationDuties(duty, use));
    describe('numbers within a range', () => rangeDuties(duty, use));
    describe('unique values', () => uniqueDuties(duty, use));
    describe('concurrency', () => concurrencyDuties(duty, use));
    describe('quotas', () => quotaDuties(duty, use));
    describe('background jobs', () => jobDuties(duty, use));
    describe('outbox', () => outboxDuties(duty, use));
    describe('durability', () => durabilityDuties(duty, use));
    duty.finish();
  });
}
