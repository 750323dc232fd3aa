import { performance } from 'node:perf_hooks';

/** Share of a period in which the event loop of an idle process is busy at most. */
const IDLE_SHARE = 0.05;
const PERIOD_MS = 1000;

const loads: (() => unknown)[] = [];

/**
 * Registers a slow load, which would block all requests if the first one had to do it. `loadInIdleTime` runs it once
 * after the start; in processes that do not call that function the first request does it.
 */
export function loadWhenIdle(load: () => unknown): void {
  loads.push(load);
}

/** Calls what `loadWhenIdle` has registered, one after each period in which the process was idle. */
export function loadInIdleTime(periodMs = PERIOD_MS): () => void {
  let utilized = performance.eventLoopUtilization();
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, utilized);
    utilized = now;
    if (utilization > IDLE_SHARE) return;
    const load = loads.shift();
    if (load === undefined) clearInterval(timer);
    // A failure is reported by the request that needs what could not be loaded.
    else void Promise.resolve().then(load).catch(ignore);
  }, periodMs).unref();
  return () => clearInterval(timer);
}

const ignore = (): void => undefined;
