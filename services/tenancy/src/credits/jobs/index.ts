import type { AnyQueueSpec } from '@commonplace/kit/jobs';
import type { CreditParts } from '../parts.js';
import { grantExpiryQueue, reservationQueue } from '../records.js';
import { openGrantQueue } from './grants.js';
import { openReservationQueue } from './reservations.js';

export const creditQueues: readonly AnyQueueSpec[] = [reservationQueue, grantExpiryQueue];

/** The background work of credits. */
export interface CreditJobs {
  begin(): Promise<void>;
  /** Runs all jobs that are due now, for tests. */
  runDue(): Promise<void>;
  close(): Promise<void>;
}

export async function openCreditJobs(parts: CreditParts): Promise<CreditJobs> {
  const queues = [await openReservationQueue(parts), await openGrantQueue(parts)] as const;
  const all = async (act: (queue: (typeof queues)[number]) => Promise<void>): Promise<void> => {
    for (const queue of queues) await act(queue);
  };
  return {
    begin: () => all((queue) => queue.begin()),
    runDue: () => all((queue) => queue.runDue()),
    close: () => all((queue) => queue.close()),
  };
}
