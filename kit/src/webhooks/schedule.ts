const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Milliseconds from one attempt to the next: the schedule that the Standard Webhooks specification gives. */
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
/** Share by which a delay is longer or shorter, so that what failed together does not come back together. */
const JITTER = 0.2;
/** A target that has done nothing but fail for so long is switched off. */
export const FAILING_MS = 5 * DAY_MS;
/** The longest that a target may ask to be left alone. */
const MOST_RETRY_AFTER_MS = DAY_MS;

/**
 * Milliseconds until the next attempt after so many; undefined after the last. `random` is within [0, 1), and
 * `retryAfterMs` what the target asked for.
 */
export function delayAfter(attempts: number, random: number, retryAfterMs = 0): number | undefined {
  const delay = DELAYS_MS[attempts - 1];
  if (delay === undefined) return undefined;
  return Math.max(delay * (1 - JITTER + 2 * JITTER * random), Math.min(retryAfterMs, MOST_RETRY_AFTER_MS));
}

/** Reads `Retry-After` (RFC 9110, 10.2.3): seconds, or a date. Milliseconds from `now`; 0 where it says nothing. */
export function retryAfterMs(header: string | undefined, now: number): number {
  if (header === undefined) return 0;
  const text = header.trim();
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * SECOND_MS : Date.parse(text) - now;
  return Number.isFinite(ms) && ms > 0 ? ms : 0;
}
