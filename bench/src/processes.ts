import { readdirSync, readFileSync } from 'node:fs';

/** Clock ticks of `/proc` per second. There are 100 on every Linux that Node.js supports. */
const TICKS = 100;

/** Returns the ids of a process and of all its descendants. */
export function processTree(pid: number): number[] {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    const below = threads.flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
    );
    return [pid, ...below.flatMap(processTree)];
  } catch {
    return [];
  }
}

/**
 * Returns the processor time in seconds that processes have used since they started, including their threads and their
 * children that have ended.
 */
export function cpuSeconds(pids: readonly number[]): number {
  const ticks = pids.map((pid) => {
    const fields = fieldsOf(readFileSync(`/proc/${pid}/stat`, 'utf8'));
    return [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at]), 0);
  });
  return ticks.reduce((sum, one) => sum + one, 0) / TICKS;
}

/**
 * Returns the fields of `/proc/<pid>/stat` after the program's name. They are searched from its end, because the name
 * may contain spaces and brackets.
 */
function fieldsOf(stat: string): string[] {
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** Returns the resident memory of a process in mebibytes. */
export function residentMiB(pid: number): number {
  const line = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(line?.[1] ?? 0) / 1024;
}
