// Creates temporary folders, in memory if enough is free.
import { existsSync, mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';

const MEMORY = '/dev/shm';

/**
 * Creates a folder for data that need not outlive this process. It is in memory if `room` bytes are free, because on
 * disk a run of tests would wait for a hundred thousand writes. Tests of durability do not need the disk either,
 * because they kill processes, not machines. Deletes folders of the same name that killed processes have left.
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
