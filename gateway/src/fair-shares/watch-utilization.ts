import { performance } from 'node:perf_hooks';

/** Milliseconds between two measurements. */
const LOOK_MS = 20;

/** Measures the utilization while it is started. */
interface Watch {
  start(): void;
  stop(): void;
}

/** Creates a watch that passes `look` the utilization since the last call, from 0 to 1. */
export type WatchUtilization = (look: (utilization: number) => void) => Watch;

/**
 * Watches the event loop of this thread and those of the processes that it calls, and passes on the higher utilization.
 * `takePeerUtilization` returns the highest one that these reported since it was last called.
 */
export function watchUtilization(takePeerUtilization: () => number): WatchUtilization {
  return (look) => {
    let timer: NodeJS.Timeout | undefined;
    let last = performance.eventLoopUtilization();
    const measure = () => {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, last);
      last = now;
      look(Math.max(utilization, takePeerUtilization()));
    };
    return {
      start() {
        last = performance.eventLoopUtilization();
        takePeerUtilization();
        timer ??= setInterval(measure, LOOK_MS).unref();
      },
      stop() {
        clearInterval(timer);
        timer = undefined;
      },
    };
  };
}
