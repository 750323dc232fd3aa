import { existsSync, mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
const NAME = 'commonplace-tests-';
/** Bytes of memory that have to be free, far more than tests write at a time. */
const ROOM = 8 * 2 ** 30;

/**
 * A new folder for all that a run of the tests writes: in memory where that has room for it, so that a hundred thousand
 * commits wait for no disk. Nothing that tests ask of what is kept depends on it: processes are killed, machines not.
 */
export function folderOfTests() {
  if (!existsSync(MEMORY)) return mkdtempSync(join(tmpdir(), NAME));
  for (const name of readdirSync(MEMORY)) {
    const [, pid] = /^commonplace-tests-(\d+)-/.exec(name) ?? [];
    // A run that was ended in its middle left it.
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) rmSync(join(MEMORY, name), { recursive: true, force: true });
  }
  const { bavail, bsize } = statfsSync(MEMORY);
  const room = Math.min(bavail * bsize, freemem(), process.availableMemory?.() ?? Number.POSITIVE_INFINITY);
  return mkdtempSync(join(room > ROOM ? MEMORY : tmpdir(), `${NAME}${process.pid}-`));
}
