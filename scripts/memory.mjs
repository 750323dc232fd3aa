// Temporary folders that are in memory where there is room.
import { existsSync, mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';

const MEMORY = '/dev/shm';

/**
 * A new folder for what lives no longer than this process, in memory where so many bytes are free: who waits for the disk
 * at each write waits a hundred thousand times in a run of tests. Nothing they ask of what is kept depends on it, for
 * processes are killed, machines not. What processes that were killed have left under the same name goes.
 */
export function quickFolder(name, room) {
  const own = `${name}-${process.pid}-`;
  if (!existsSync(MEMORY)) return mkdtempSync(join(tmpdir(), own));
  for (const left of readdirSync(MEMORY)) {
    const pid = left.startsWith(`${name}-`) ? Number.parseInt(left.slice(name.length + 1), 10) : Number.NaN;
    if (pid > 0 && !existsSync(`/proc/${pid}`)) rmSync(join(MEMORY, left), { recursive: true, force: true });
  }
  const { bavail, bsize } = statfsSync(MEMORY);
  const free = Math.min(bavail * bsize, freemem(), process.availableMemory?.() ?? Number.POSITIVE_INFINITY);
  return mkdtempSync(join(free > room ? MEMORY : tmpdir(), own));
}
