import { LostRace } from '@commonplace/kit/store';
import { forget } from './commands.js';
import type { SnapshotParts } from './parts.js';

/** Maximum number of snapshots that one unit of work deletes. */
const CHUNK = 100;

/** Deletes expired automatic snapshots with their content. Returns the number of deleted snapshots. */
export async function expireSnapshots(
  parts: Pick<SnapshotParts, 'store' | 'snapshots' | 'kinds'>,
  now: string,
): Promise<number> {
  for (let gone = 0; ; ) {
    const due = await parts.snapshots.find({ where: { expiresAt: { lte: now } }, sort: ['expiresAt'], limit: CHUNK });
    if (due.length === 0) return gone;
    const work = parts.store.begin();
    for (const snapshot of due) await forget(parts, snapshot, work);
    try {
      await work.commit();
    } catch (error) {
      // Another process is deleting or purging them; the next hourly run finds the rest.
      if (error instanceof LostRace) return gone;
      throw error;
    }
    gone += due.length;
  }
}
