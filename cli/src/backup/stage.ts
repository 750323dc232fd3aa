import { rmSync } from 'node:fs';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { backUp } from '@commonplace/adapters/sqlite/file';
import { BLOB_FOLDER, FILES_FOLDER } from '@commonplace/files/blobs';
import { DATABASE_FILE } from '@commonplace/platform/runtime';
import { clearOnExit } from '../clear-on-exit.js';
import { filesBelow, linkFile } from './files.js';

const PREFIX = '.backup-stage-';
/** Milliseconds after which a later backup deletes the folder of a killed one. By then no process can be using it. */
const STALE_MS = 24 * 3_600_000;

/** A folder within the data folder that holds the data being backed up, while the system may go on changing its own. */
export interface Stage {
  /** Path of the database copy, which has the state of a single moment. */
  readonly database: string;
  /** Returns the path of a blob's held bytes. */
  blob(key: string): string;
  /** Replaces the database copy with a new one. */
  copyDatabase(): Promise<void>;
  /** Holds all blobs that currently exist. Returns the keys of all blobs held so far; calls `held` for each new one. */
  holdBlobs(held?: (blobs: number) => void): Promise<string[]>;
  remove(): Promise<void>;
}

export async function openStage(dataDir: string): Promise<Stage> {
  await removeStale(dataDir);
  const folder = await mkdtemp(join(dataDir, PREFIX));
  const forget = clearOnExit(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
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
    // Bytes are never changed once written, so a hard link preserves them when the original is deleted.
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
      forget();
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
