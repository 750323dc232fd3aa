import { performance } from 'node:perf_hooks';

/** Milliseconds between two measurements of the event loop. */
const LOOK_MS = 20;

/** Measures the event loop while it is started. */
export interface LoopWatch {
  start(): void;
  stop(): void;
}

/** Creates a watch that passes `look` the utilization of the event loop since the last call, from 0 to 1. */
export type WatchLoop = (look: (utilization: number) => void) => LoopWatch;

/** Watches the event loop of this thread. */
export const watchLoop: WatchLoop = (look) => {
  let timer: NodeJS.Timeout | undefined;
  let last = performance.eventLoopUtilization();
  const measure = () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    look(utilization);
  };
  return {
    start() {
      last = performance.eventLoopUtilization();
      timer ??= setInterval(measure, LOOK_MS).unref();
    },
    stop() {
      clearInterval(timer);
      timer = undefined;
    },
  };
};
