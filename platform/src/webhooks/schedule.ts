const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Milliseconds between attempts, according to the Standard Webhooks specification. */
export const DELAYS_MS: readonly number[] = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
];
/**
 * Share by which a delay is randomly lengthened or shortened, so that simultaneous failures are not retried at the same
 * time.
 */
const JITTER = 0.2;
/** Milliseconds of failures without a success after which a target is disabled. */
export const FAILING_MS = 5 * DAY_MS;
/** Maximum of the time for which a target may ask not to be called. */
const MAX_RETRY_AFTER_MS = DAY_MS;

/**
 * Returns the milliseconds until the next attempt; undefined after the last. `random` is within [0, 1), and
 * `retryAfterMs` is the time that the target has requested.
 */
export function delayAfter(attempts: number, random: number, retryAfterMs = 0): number | undefined {
  const delay = DELAYS_MS[attempts - 1];
  if (delay === undefined) return undefined;
  return Math.max(delay * (1 - JITTER + 2 * JITTER * random), Math.min(retryAfterMs, MAX_RETRY_AFTER_MS));
}
