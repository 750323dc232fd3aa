import type { EventBus, Subscription } from '@commonplace/kit/events';
import { inWork } from '@commonplace/kit/store';
import type { WorkspaceMemberChanged } from '@commonplace/proto/tenancy/v1/events.js';
import { ApproverLookup } from '../approvals/approvers.js';
import type { Parts } from '../parts.js';
import type { ApprovalRecord } from '../stores/approvals.js';
import { ENDED, settleApproval } from './approval-writes.js';
import { requestEvent } from './events.js';

const LEFT = ['commonplace.tenancy.workspace_member.removed', 'commonplace.tenancy.org_member.removed'];
/** Maximum number of pending approvals of one person that are read. */
const MAX_APPROVALS = 1_000;

/**
 * Subscribes to approvers leaving. Their replacements are notified, and an approval without any approver left ends at
 * once.
 */
export function watchLeavingApprovers(parts: Parts, bus: EventBus): Promise<Subscription> {
  return bus.subscribe({ consumer: 'agents.leaving-approvers', types: LEFT }, async (events) => {
    for (const { data } of events) {
      const { userId } = data as Partial<WorkspaceMemberChanged>;
      if (userId) await replaceApprover(parts, userId);
    }
  });
}

/**
 * Determines the approvers of a person's pending approvals again. It uses the current state, so that an event may
 * arrive twice.
 */
async function replaceApprover(parts: Parts, userId: string): Promise<void> {
  const { approvals, memberships, systemCall } = parts;
  await memberships.fresh(userId, systemCall());
  const where = { approverIds: { contains: userId }, status: 'pending' } as const;
  const asked = await approvals.find({ where, limit: MAX_APPROVALS });
  for (const { id } of asked) await askAnew(parts, id);
}

async function askAnew(parts: Parts, id: string): Promise<void> {
  const { store, approvals, runs, systemCall } = parts;
  await inWork(store, async (work) => {
    const before = await work.get(approvals, id);
    if (before?.status !== 'pending') return;
    const { ids, asksAdmins } = await new ApproverLookup(parts, systemCall).approversOf(before);
    if (ids.length === 0) {
      const ended: ApprovalRecord = { ...before, ...ENDED, status: 'expired', reason: 'no_approver' };
      work.replace(approvals, before, await settleApproval(parts, work, before, ended));
      return;
    }
    const newcomers = ids.filter((one) => !before.approverIds.includes(one));
    if (newcomers.length === 0 && ids.length === before.approverIds.length) return;
    const after = { ...before, approverIds: ids, asksAdmins };
    work.replace(approvals, before, after);
    if (newcomers.length > 0) work.publish(requestEvent(after, await work.get(runs, before.runId), newcomers));
  });
}
