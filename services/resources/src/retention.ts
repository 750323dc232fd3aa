import { createPeriodic, type Periodic, runEach } from '@commonplace/kit/jobs';
import type { PublicationParts } from './publications/parts.js';
import { expireSnapshots } from './snapshots/expire.js';
import type { SnapshotParts } from './snapshots/parts.js';
import { purgeExpired } from './tree/purge-expired.js';

const HOUR_MS = 3_600_000;

/** Deletes expired trash, snapshots and password attempts, once an hour. */
export function createRetention(parts: SnapshotParts & Pick<PublicationParts, 'passwordTries'>): Periodic {
  const { log } = parts;
  return createPeriodic({
    name: 'resources.retention',
    everyMs: HOUR_MS,
    log,
    async run(signal) {
      const now = new Date().toISOString();
      const dropTries = () => parts.passwordTries.dropDrained();
      const purge = () => purgeExpired(parts, now, signal);
      await runEach<() => Promise<unknown>>([() => expireSnapshots(parts, now), dropTries, purge], (work) => work());
    },
  });
}
