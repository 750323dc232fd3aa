import { readFileSync, readlinkSync } from 'node:fs';

/** Returns the operating system's id of the calling thread; undefined where it has none to read (only Linux has). */
export function systemThreadId(): number | undefined {
  try {
    return Number(readlinkSync('/proc/thread-self').split('/').at(-1));
  } catch {
    return undefined;
  }
}

/**
 * Returns the milliseconds for which a thread of this process has run on a processor, by its id of the operating system
 * (proc_pid_schedstat(5)); undefined if that can't be read.
 */
export function processorMs(threadId: number | undefined): number | undefined {
  if (threadId === undefined) return undefined;
  try {
    return Number(readFileSync(`/proc/self/task/${threadId}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
  } catch {
    return undefined;
  }
}
