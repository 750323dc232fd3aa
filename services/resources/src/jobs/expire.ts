import { LostRace } from '@commonplace/kit/store';
import { forget } from '../acts/snapshots.js';
import type { Parts } from '../parts.js';

/** Snapshots that one unit of work takes away. */
const CHUNK = 100;

/** Deletes automatic snapshots whose time is over, with what they keep. Gives how many. */
export async function expireSnapshots(
  parts: Pick<Parts, 'store' | 'snapshots' | 'kinds'>,
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
      // Somebody else is at it, or has them purged: what is left is found again in an hour.
      if (error instanceof LostRace) return gone;
      throw error;
    }
    gone += due.length;
  }
}

/** Forgets shifts that everybody has followed. Gives how many. */
export async function expireShifts({ store, shifts }: Pick<Parts, 'store' | 'shifts'>, now: string): Promise<number> {
  for (let gone = 0; ; ) {
    const due = await shifts.find({ where: { until: { lte: now } }, sort: ['until'], limit: CHUNK });
    if (due.length === 0) return gone;
    const work = store.begin();
    for (const shift of due) work.remove(shifts, shift);
    try {
      await work.commit();
    } catch (error) {
      if (error instanceof LostRace) return gone;
      throw error;
    }
    gone += due.length;
  }
}
