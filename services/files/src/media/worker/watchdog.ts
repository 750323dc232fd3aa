import { workerData } from 'node:worker_threads';

export interface WatchdogData {
  /** Of the whole process. */
  readonly memoryBytes: number;
  /** The process that started this one. */
  readonly parent: number;
}

/**
 * A thread that kills its process over its memory, and when nobody is left to answer to: a parser in an endless loop
 * notices neither.
 */
const PERIOD_MS = 50;

const { memoryBytes, parent } = workerData as WatchdogData;

setInterval(() => {
  if (process.memoryUsage.rss() > memoryBytes || process.ppid !== parent) process.kill(process.pid, 'SIGKILL');
}, PERIOD_MS);
