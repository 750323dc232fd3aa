/** Bounds of the pause before a failed job is retried. */
export interface Backoff {
  /** Milliseconds after the first failure; doubled after each further failure. */
  readonly firstMs: number;
  readonly maxMs: number;
}

/**
 * Fraction by which a delay is randomly lengthened or shortened, so that jobs that failed together are not retried
 * together.
 */
const JITTER = 0.2;

/** Returns the milliseconds until the next attempt after `failures` consecutive failures. `random` is within [0, 1). */
export function backoffMs({ firstMs, maxMs }: Backoff, failures: number, random: number): number {
  const delay = Math.min(firstMs * 2 ** Math.min(failures - 1, 30), maxMs);
  return Math.round(delay * (1 - JITTER + 2 * JITTER * random));
}
