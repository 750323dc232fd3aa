import { createPeriodic, type Periodic } from '@commonplace/kit/jobs';
import type { Log } from '@commonplace/kit/log';
import { removeExpired, type Store } from '@commonplace/kit/store';

const EVERY_MS = 10 * 60_000;

/** Deletes expired records of all collections and the adapters' data whose retention is over, every ten minutes. */
export function startHousekeeping(stores: readonly Store[], prune: () => Promise<unknown>, log: Log): Periodic {
  const periodic = createPeriodic({
    name: 'housekeeping',
    everyMs: EVERY_MS,
    log,
    async run(signal) {
      for (const store of stores) await removeExpired(store, new Date().toISOString(), signal);
      if (!signal.aborted) await prune();
    },
  });
  periodic.begin();
  return periodic;
}
