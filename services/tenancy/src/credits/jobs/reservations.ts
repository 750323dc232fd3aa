import { type HeldJob, openQueue, type Queue } from '@commonplace/kit/jobs';
import { releaseReservation } from '../commands/charge.js';
import type { CreditParts } from '../parts.js';
import { type ReservationRecord, reservationQueue } from '../records.js';

const CONCURRENCY = 4;

/** Opens the queue that releases expired reservations. */
export function openReservationQueue(parts: CreditParts): Promise<Queue<ReservationRecord>> {
  return openQueue<ReservationRecord>({
    store: parts.store,
    log: parts.log,
    spec: reservationQueue,
    concurrency: CONCURRENCY,
    retryDeadAfterMs: 3600_000,
    now: () => Date.parse(parts.now()),
    run: (job) => releaseExpired(parts, job),
  });
}

async function releaseExpired(parts: CreditParts, job: HeldJob<ReservationRecord>): Promise<void> {
  await job.endIn(async (work, record) => {
    // The reservation may have been renewed since the worker claimed it.
    const isExpired = record.expiresAt <= parts.now();
    if (isExpired && (await releaseReservation(parts, work, record, 'Expired'))) return;
    const dueAt = record.state === 'open' ? record.expiresAt : undefined;
    work.replace(parts.reservations, record, { ...record, dueAt });
  });
}
