import type { RunRecord } from '../stores/runs.js';
import { approvalKey } from './attribution.js';
import type { Ledger } from './ledger.js';

/** Releases the credits that approvals have reserved for the next step of a run, which takes its own or is not made. */
export async function releaseApprovals(
  ledger: Pick<Ledger, 'release'>,
  run: Pick<RunRecord, 'id' | 'source' | 'reservedApprovalIds'>,
): Promise<void> {
  const { reservedApprovalIds = [] } = run;
  await Promise.all(reservedApprovalIds.map((id) => ledger.release(approvalKey(run, id))));
}
