/** How long a failed job waits before it is tried again. */
export interface Backoff {
  /** Milliseconds after the first failure; twice as many after each further one. */
  readonly firstMs: number;
  readonly maxMs: number;
}

/** Share by which a delay is longer or shorter, so that jobs that failed together are not retried together. */
const JITTER = 0.2;

/** Milliseconds until the next try after so many failures in a row. `random` is within [0, 1). */
export function backoffMs({ firstMs, maxMs }: Backoff, failures: number, random: number): number {
  const delay = Math.min(firstMs * 2 ** Math.min(failures - 1, 30), maxMs);
  return Math.round(delay * (1 - JITTER + 2 * JITTER * random));
}
