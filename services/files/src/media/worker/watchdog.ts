import { workerData } from 'node:worker_threads';

export interface WatchdogData {
  /** Limit for the whole process. */
  readonly memoryBytes: number;
  /** Id of the parent process. */
  readonly parent: number;
}

/**
 * Milliseconds between two checks. This thread kills its process when it exceeds its memory or its parent has ended,
 * neither of which a parser in an endless loop would notice.
 */
const PERIOD_MS = 50;

const { memoryBytes, parent } = workerData as WatchdogData;

setInterval(() => {
  if (process.memoryUsage.rss() > memoryBytes || process.ppid !== parent) process.kill(process.pid, 'SIGKILL');
}, PERIOD_MS);
