/** A limit in time that a task exceeded, as the details of an error. */
export interface TimeLimit {
  readonly limit_seconds: number;
  readonly setting: string;
}

/** Milliseconds that a request keeps after its last task in a thread, for its commit and its response. */
export const RESERVED_MS = 500;

/**
 * Returns the limit that a task met when it was stopped after `timeoutMs`: its own, or what was left to its request,
 * which may have run several tasks.
 */
export function limitMet(own: TimeLimit, timeoutMs: number): TimeLimit {
  if (timeoutMs >= own.limit_seconds * 1000) return own;
  return { limit_seconds: Math.max(1, Math.floor(timeoutMs / 1000)), setting: 'COMMONPLACE_REQUEST_TIMEOUT_MS' };
}
