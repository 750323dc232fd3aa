import { rmSync } from 'node:fs';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { BLOB_FOLDER, FILES_FOLDER } from '@commonplace/files/blobs';
import { DATABASE_FILE } from '@commonplace/kit/runtime';
import { backUp } from '@commonplace/kit/store/sqlite';
import { filesBelow, linkFile } from './files.js';

const PREFIX = '.backup-stage-';
/** What a backup that was killed has left is removed by a later one, when nobody can be at it any more. */
const STALE_MS = 24 * 3_600_000;

/** A folder in the data folder that holds on to what is being backed up, whatever the system does meanwhile. */
export interface Stage {
  /** A copy of the database as it was at one moment. */
  readonly database: string;
  /** Where the bytes of a key are. */
  blob(key: string): string;
  /** Copies the database again. */
  copyDatabase(): Promise<void>;
  /** Holds all blobs that are there now; gives the keys of all that it holds. */
  holdBlobs(held?: (blobs: number) => void): Promise<string[]>;
  remove(): Promise<void>;
}

export async function openStage(dataDir: string): Promise<Stage> {
  await removeStale(dataDir);
  const folder = await mkdtemp(join(dataDir, PREFIX));
  const clear = () => rmSync(folder, { recursive: true, force: true });
  process.once('exit', clear);
  const blobs = join(dataDir, FILES_FOLDER, BLOB_FOLDER);
  const database = join(folder, DATABASE_FILE);
  const keys = new Set<string>();
  const blob = (key: string) => join(folder, BLOB_FOLDER, ...key.split('/'));
  return {
    database,
    blob,
    async copyDatabase() {
      await rm(database, { force: true });
      await backUp(join(dataDir, DATABASE_FILE), database);
    },
    // Bytes are put once and never changed: a second name holds them when the first is deleted.
    async holdBlobs(held = () => {}) {
      for (const key of await filesBelow(blobs)) {
        if (keys.has(key) || !(await linkFile(join(blobs, ...key.split('/')), blob(key)))) continue;
        keys.add(key);
        held(1);
      }
      return [...keys].sort();
    },
    async remove() {
      await rm(folder, { recursive: true, force: true });
      process.off('exit', clear);
    },
  };
}

async function removeStale(dataDir: string): Promise<void> {
  for (const name of await readdir(dataDir)) {
    if (!name.startsWith(PREFIX)) continue;
    const { mtimeMs } = await stat(join(dataDir, name));
    if (Date.now() - mtimeMs > STALE_MS) await rm(join(dataDir, name), { recursive: true, force: true });
  }
}
