import { isPassing } from '@commonplace/kit/errors';

/**
 * Maximum number of failures of an event that do not count as attempts because a service that its handler calls was
 * unavailable or overloaded. Most retries are a minute apart, so an event survives an outage of 20 minutes. After that
 * it is parked, so that an event that itself makes a service fail does not block others forever.
 */
const MAX_WAITS = 30;

/** How often an event has failed. */
interface Failures {
  /** Failures that count towards `maxAttempts`. */
  attempts: number;
  /** Failures because another service was unavailable or overloaded. */
  waits: number;
}

/** Counts a failure of an event's handler. */
export function countFailure(failures: Failures, error: unknown): void {
  if (isPassing(error) && failures.waits < MAX_WAITS) failures.waits += 1;
  else failures.attempts += 1;
}

/** Returns the milliseconds before an event is tried again: `retryMs`, doubled with each failure up to `maxMs`. */
export function retryDelay({ attempts, waits }: Failures, retryMs: number, maxMs: number): number {
  return Math.min(retryMs * 2 ** (attempts + waits - 1), maxMs);
}
