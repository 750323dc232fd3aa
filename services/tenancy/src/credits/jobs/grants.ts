import { type HeldJob, openQueue, type Queue } from '@commonplace/kit/jobs';
import { openAccount } from '../commands/account.js';
import type { CreditParts } from '../parts.js';
import { type GrantExpiryRecord, grantExpiryQueue } from '../records.js';

/** Milliseconds between two checks of an expired grant that is still partly reserved. */
const RESERVED_RETRY_MS = 60_000;

/** Opens the queue that ends grants at their time. */
export function openGrantQueue(parts: CreditParts): Promise<Queue<GrantExpiryRecord>> {
  return openQueue<GrantExpiryRecord>({
    store: parts.store,
    log: parts.log,
    spec: grantExpiryQueue,
    concurrency: 2,
    retryDeadAfterMs: 3600_000,
    now: () => Date.parse(parts.now()),
    run: (job) => expireGrant(parts, job),
  });
}

async function expireGrant(parts: CreditParts, job: HeldJob<GrantExpiryRecord>): Promise<void> {
  const { tenant, id } = job.record;
  await job.endIn(async (work, record) => {
    const before = await work.get(parts.accounts, tenant);
    if (before === undefined) return work.remove(parts.grantExpiries, record);
    const { orgId, userId } = before;
    const payer = { tenant, ...(orgId !== undefined && { orgId }), ...(userId !== undefined && { userId }) };
    const account = await openAccount(parts, work, payer);
    // Opening the account ends expired grants.
    if (account.book.entries.length > 0) account.save({});
    if (!account.book.state.grants.some((grant) => grant.id === id)) work.remove(parts.grantExpiries, record);
    else work.replace(parts.grantExpiries, record, { ...record, dueAt: parts.now(RESERVED_RETRY_MS) });
  });
}
