import { afterAll, beforeAll, describe } from '@jest/globals';
import { changeDuties } from './contract/changes.js';
import { filterDuties } from './contract/filters.js';
import { type Bench, createBench } from './contract/harness.js';
import { highlightDuties } from './contract/highlights.js';
import { hostileDuties } from './contract/hostile.js';
import { inspectionDuties } from './contract/inspection.js';
import { languageDuties } from './contract/languages.js';
import { relevanceDuties } from './contract/relevance.js';
import { upkeepDuties } from './contract/upkeep.js';
import { vectorDuties } from './contract/vectors.js';
import type { SearchIndex } from './port.js';

/** Asks an adapter of the search index, which holds nothing yet, for each duty of `port.ts`. */
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
    describe('upkeep of vectors', () => upkeepDuties(use));
  });
}
