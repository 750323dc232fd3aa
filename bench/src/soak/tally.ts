/** Counts checks, and shows what is wrong where one fails. */
export interface Tally {
  check(name: string, faults: readonly string[]): void;
  readonly passed: number;
  readonly failed: number;
}

/** Faults of one check that are shown; there may be thousands. */
const SHOWN = 10;

export function createTally(): Tally {
  let passed = 0;
  let failed = 0;
  return {
    check(name, faults) {
      if (faults.length === 0) {
        passed++;
        return;
      }
      failed++;
      console.log(`FAILED ${name}: ${faults.length}`);
      for (const fault of faults.slice(0, SHOWN)) console.log(`  ${fault}`);
    },
    get passed() {
      return passed;
    },
    get failed() {
      return failed;
    },
  };
}
