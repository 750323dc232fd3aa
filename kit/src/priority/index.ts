import { readdirSync } from 'node:fs';
import { setPriority } from 'node:os';

/** Error codes of changes that are not made: a thread has ended, or its priority is already lower and may not rise. */
const IGNORED: ReadonlySet<string | undefined> = new Set(['ESRCH', 'EACCES', 'EPERM']);

/**
 * Lowers the OS priority of this process by setting its niceness (0 to 19). Linux has a priority for each thread:
 * there, all threads that the process has are lowered, and those that they start inherit it.
 */
export function lowerProcessPriority(nice: number): void {
  for (const thread of process.platform === 'linux' ? threadIds() : [0]) lower(thread, nice);
}

/** Returns the ids of all threads of this process; of the calling one alone if there is no `/proc`. */
function threadIds(): number[] {
  try {
    return readdirSync('/proc/self/task').map(Number);
  } catch {
    return [0];
  }
}

/** Lowers the OS priority of this thread, as above. Only Linux can; elsewhere the thread keeps its priority. */
export function lowerThreadPriority(nice: number): void {
  // On Linux, 0 means the calling thread alone.
  if (process.platform === 'linux') lower(0, nice);
}

function lower(id: number, nice: number): void {
  try {
    setPriority(id, nice);
  } catch (error) {
    const { code } = (error as { info?: { code?: string } }).info ?? {};
    if (!IGNORED.has(code)) throw error;
  }
}
