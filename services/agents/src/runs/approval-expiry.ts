import { openQueue, type Queue } from '@commonplace/kit/jobs';
import type { Parts } from '../parts.js';
import { type ApprovalRecord, approvalQueue } from '../stores/approvals.js';
import { ENDED, settleApproval } from './approval-writes.js';

/** Opens the queue that expires approvals that were not decided in time. */
export function openApprovalQueue(
  parts: Omit<Parts, 'removals' | 'agentRemovals' | 'approvals'>,
): Promise<Queue<ApprovalRecord>> {
  const queue: Promise<Queue<ApprovalRecord>> = openQueue<ApprovalRecord>({
    ...{ store: parts.store, log: parts.log, spec: approvalQueue, concurrency: 4 },
    async run(job) {
      const leftMs = Date.parse(job.record.expiresAt) - Date.now();
      if (leftMs > 0) return job.retryIn(leftMs);
      const { collection: approvals } = await queue;
      const ending = { ...ENDED, status: 'expired', reason: 'timeout' } as const;
      await job.finish({ status: ending.status, reason: ending.reason, rank: ending.rank }, async (work, approval) => {
        await settleApproval({ ...parts, approvals }, work, approval, { ...approval, ...ending });
      });
    },
  });
  return queue;
}
