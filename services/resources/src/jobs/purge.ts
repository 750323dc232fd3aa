import { newId } from '@commonplace/kit/id';
import type { Log } from '@commonplace/kit/log';
import { LostRace } from '@commonplace/kit/store';
import type { Parts } from '../parts.js';
import { forgetTries } from '../publications/check-password.js';
import { expireShifts, expireSnapshots } from './expire.js';

const HOUR_MS = 3_600_000;
/** Batches that one round begins to purge. */
const BATCHES = 100;

/** Purges what has been in the trash, and snapshots that were kept, for their time; looks each hour. */
export function startRetention(parts: Parts, log: Log): { close(): void } {
  const tick = () => {
    const now = new Date().toISOString();
    purgeExpired(parts, now).catch((error) => log.error('trash.purge_failed', { error }));
    forgetTries(parts, now).catch((error) => log.error('password_tries.expiry_failed', { error }));
    expireSnapshots(parts, now).catch((error) => log.error('snapshots.expiry_failed', { error }));
    expireShifts(parts, now).catch((error) => log.error('shifts.expiry_failed', { error }));
  };
  const timer = setInterval(tick, HOUR_MS);
  timer.unref();
  tick();
  return { close: () => clearInterval(timer) };
}

/** Queues a purge for each batch whose time is over. Gives how many. */
export async function purgeExpired(parts: Parts, now: string): Promise<number> {
  const due = await parts.tree.nodes.find({
    where: { state: 'trashed', purgeAt: { lte: now }, trashHead: true },
    sort: ['purgeAt'],
    limit: BATCHES,
  });
  for (const { id, tenant, workspaceId, batchId } of due) {
    const work = parts.store.begin();
    const actor = { type: 'system', id: 'resources', name: 'Trash retention' } as const;
    const job = {
      id: newId(),
      tenant,
      headId: id,
      kind: 'purge',
      batchId,
      actor,
      createdAt: now,
      leaseUntil: now,
    } as const;
    work.insert(parts.jobs, { ...job, workspaceIds: [workspaceId] });
    try {
      await work.commit();
      parts.runner.start(job.id);
    } catch (error) {
      if (!(error instanceof LostRace)) throw error;
    }
  }
  return due.length;
}
