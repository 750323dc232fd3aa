import { setPriority } from 'node:os';

/**
 * Lowers the OS priority of this process, or on Linux of this thread only, by setting its niceness (0 to 19). A process
 * that already runs at a lower priority may not raise it, and stays as it is.
 */
export function lowerPriority(nice: number): void {
  try {
    setPriority(0, nice);
  } catch (error) {
    const { code } = (error as { info?: { code?: string } }).info ?? {};
    if (code !== 'EACCES' && code !== 'EPERM') throw error;
  }
}
