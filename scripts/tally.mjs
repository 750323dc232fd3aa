/** Counts checks and prints the faults of those that fail. */
export function openTally() {
  let passed = 0;
  let failed = 0;
  let skipped = 0;

  /** Counts a check. `faults` lists its faults and is empty on success. */
  function check(name, faults) {
    if (faults.length === 0) passed += 1;
    else failed += 1;
    for (const fault of faults) console.log(`✕ ${name}: ${fault}`);
  }

  return {
    check,
    /** Counts a check that must refuse something broken. */
    refuses: (name, faults) => check(`${name} (seen refusing)`, faults.length > 0 ? [] : ['it is accepted']),
    /** Counts a check that throws if it fails. */
    async attempt(name, act) {
      try {
        await act();
        check(name, []);
      } catch (error) {
        check(name, [error.message]);
      }
    },
    /** Counts a check that can't run on this machine. */
    skip(name) {
      skipped += 1;
      console.log(`skipped: ${name}`);
    },
    /** Prints the counts as the last line and ends the process, which fails if a check failed. */
    end() {
      console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
      process.exit(failed > 0 ? 1 : 0);
    },
  };
}
