/** Counts checks and prints the faults of failed ones. */
export interface Tally {
  check(name: string, faults: readonly string[]): void;
  /** Records that something can't be checked on this machine. */
  skip(what: string, why: string): void;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** Maximum number of faults of a check that are printed. There may be thousands. */
const SHOWN = 10;

export function createTally(): Tally {
  let passed = 0;
  let failed = 0;
  let skipped = 0;
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
    skip(what, why) {
      skipped++;
      console.log(`skipped: ${what}: ${why}`);
    },
    get passed() {
      return passed;
    },
    get failed() {
      return failed;
    },
    get skipped() {
      return skipped;
    },
  };
}
