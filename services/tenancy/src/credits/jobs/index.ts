import type { AnyQueueSpec } from '@commonplace/kit/jobs';
import type { CreditParts } from '../parts.js';
import { grantExpiryQueue, reservationQueue } from '../records.js';
import { openGrantQueue } from './grants.js';
import { openReservationQueue } from './reservations.js';

export const creditQueues: readonly AnyQueueSpec[] = [reservationQueue, grantExpiryQueue];

/** Opens the queues of the background work of credits. */
export async function openCreditQueues(parts: CreditParts) {
  return [await openReservationQueue(parts), await openGrantQueue(parts)] as const;
}
