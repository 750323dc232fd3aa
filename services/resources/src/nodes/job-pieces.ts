import type { HeldJob } from '@commonplace/kit/jobs';
import type { UnitOfWork } from '@commonplace/kit/store';
import type { TreeJob } from './jobs.js';

/**
 * Deletes records in pieces, a unit of work each, and ends the job after the last piece. `removePiece` adds the deletions
 * of one piece to a unit and returns whether none are left.
 */
export async function removeInPieces(
  job: HeldJob<TreeJob>,
  removePiece: (work: UnitOfWork, record: TreeJob) => Promise<boolean>,
): Promise<void> {
  for (let done = false; !done; ) {
    if (job.isStopping) return;
    await job.save({}, async (work, record) => {
      done = await removePiece(work, record);
    });
  }
  await job.remove();
}
