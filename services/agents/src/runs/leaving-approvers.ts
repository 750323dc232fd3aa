import type { EventBus, Subscription } from '@commonplace/kit/events';
import { inWork } from '@commonplace/kit/store';
import type { WorkspaceMemberChanged } from '@commonplace/proto/tenancy/v1/events.js';
import { ApproverLookup } from '../approvals/approvers.js';
import type { Parts } from '../parts.js';
import type { ApprovalRecord } from '../stores/approvals.js';
import { ENDED, settleApproval } from './approval-writes.js';
import { requestEvent } from './events.js';

/**
 * Changes after which a person may not be able to decide any more. Being suspended, or made a guest, is an update of a
 * membership.
 */
const CHANGED = [
  'tenancy.workspace_member.removed',
  'tenancy.workspace_member.updated',
  'tenancy.org_member.removed',
  'tenancy.org_member.updated',
  'identity.user.disabled',
].map((type) => `commonplace.${type}`);
/** Number of approvals that one query reads. */
const CHUNK = 200;

/**
 * Subscribes to approvers who leave, are suspended, become guests, or whose account is disabled. Their replacements are
 * notified, and an approval without any approver left ends at once.
 */
export function watchLeavingApprovers(parts: Parts, bus: EventBus): Promise<Subscription> {
  return bus.subscribe({ consumer: 'agents.leaving-approvers', types: CHANGED }, async (events) => {
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
  for (let last = ''; ; ) {
    const where = { approverIds: { contains: userId }, status: 'pending', id: { gt: last } } as const;
    const asked = await approvals.find({ where, sort: ['id'], limit: CHUNK });
    for (const { id } of asked) await askAnew(parts, id);
    if (asked.length < CHUNK) return;
    last = asked.at(-1)?.id ?? '';
  }
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
