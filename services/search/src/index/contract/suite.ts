import { afterAll, beforeAll, describe } from '@jest/globals';
import type { SearchIndex } from '../port.js';
import { changeDuties } from './changes.js';
import { filterDuties } from './filters.js';
import { type Bench, createBench } from './harness.js';
import { highlightDuties } from './highlights.js';
import { hostileDuties } from './hostile.js';
import { inspectionDuties } from './inspection.js';
import { languageDuties } from './languages.js';
import { rankingDuties } from './ranking.js';
import { relevanceDuties } from './relevance.js';
import { upkeepDuties } from './upkeep.js';
import { vectorDuties } from './vectors.js';

/** Tests an adapter of the search index, which must be empty, against each duty of `port.ts`. */
export function indexContract(name: string, open: () => Promise<SearchIndex>): void {
  describe(`search index on ${name}`, () => {
    let bench: Bench | undefined;
    beforeAll(async () => {
      bench = createBench(await open());
    }, 60_000);
    afterAll(async () => {
      await bench?.index.close();
    }, 60_000);
    const use = (): Bench => {
      if (bench === undefined) throw new Error('the index did not open');
      return bench;
    };
    describe('relevance', () => relevanceDuties(use));
    describe('languages', () => languageDuties(use));
    describe('highlights', () => highlightDuties(use));
    describe('filters', () => filterDuties(use));
    describe('changes', () => changeDuties(use));
    describe('inspection', () => inspectionDuties(use));
    describe('hostile texts', () => hostileDuties(use));
    describe('vectors', () => vectorDuties(use));
    describe('ranking', () => rankingDuties(use));
    describe('upkeep of vectors', () => upkeepDuties(use));
  });
}
