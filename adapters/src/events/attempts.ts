import { AppError } from '@commonplace/kit/errors';

/**
 * Failures of an event that are not counted as attempts because the service that its handler needs was away or too busy.
 * With a minute between most of them an event outlives an outage of 20 minutes; what fails longer is parked, so that an
 * event that itself makes a service fail does not hold up others for ever.
 */
export const MAX_WAITS = 30;

const TEMPORARY = new Set(['UNAVAILABLE', 'DEADLINE_EXCEEDED']);

/** How often an event has failed. */
export interface Failures {
  /** Failures that count towards `maxAttempts`. */
  attempts: number;
  /** Failures for which others were to blame. */
  waits: number;
}

/** Counts a failure of an event's handler. */
export function countFailure(failures: Failures, error: unknown): void {
  const isWait = error instanceof AppError && TEMPORARY.has(error.code) && failures.waits < MAX_WAITS;
  if (isWait) failures.waits += 1;
  else failures.attempts += 1;
}

/** Returns the milliseconds before an event is tried again: `retryMs`, doubled with each failure up to `mostMs`. */
export function retryDelay({ attempts, waits }: Failures, retryMs: number, mostMs: number): number {
  return Math.min(retryMs * 2 ** (attempts + waits - 1), mostMs);
}
