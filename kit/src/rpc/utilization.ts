import { performance } from 'node:perf_hooks';

/** Minimum milliseconds of one measurement. */
const MEASURED_MS = 20;

/**
 * Creates a meter that returns the utilization of this thread's event loop, from 0 to 1, between the last two calls that
 * are at least 20 ms apart. It needs no timer, so that an idle process stays idle.
 */
export function createUtilizationMeter(): () => number {
  let since = performance.now();
  let before = performance.eventLoopUtilization();
  let last = 0;
  return () => {
    const now = performance.now();
    if (now - since < MEASURED_MS) return last;
    const after = performance.eventLoopUtilization();
    last = performance.eventLoopUtilization(after, before).utilization;
    since = now;
    before = after;
    return last;
  };
}
