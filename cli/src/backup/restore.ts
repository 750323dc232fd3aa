import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { openSqliteDatabase } from '@commonplace/adapters/sqlite';
import { openConnection } from '@commonplace/adapters/sqlite/file';
import { FILES_FOLDER, openBlobInstallation } from '@commonplace/files/blobs';
import { makeFolder } from '@commonplace/kit/durable';
import { newId } from '@commonplace/kit/id';
import { DATABASE_FILE, RESTORE_MARKER } from '@commonplace/platform/runtime';
import { CommandError, EXIT } from '../exit.js';
import type { Progress } from '../progress.js';
import { isMissing, measureFile, once, requireRoom, syncFolder, syncFolders, writeDurable } from './files.js';
import type { Manifest } from './manifest.js';
import { localPath } from './places.js';
import { forEachConcurrently, openSource, requireSame, type Source, sizeOf } from './source.js';

interface RestoreOptions {
  /** Path of the backup, a folder or an archive; or a source that is already open. */
  readonly from: string | Source;
  /** The data folder. It may be missing, empty, or left over from an interrupted restore. */
  readonly to: string;
  /**
   * Set if the restored installation replaces the backed-up one, which must never run again. Otherwise it becomes a new
   * installation.
   */
  readonly sameInstallation?: boolean;
}

/**
 * Restores a backup into an empty data folder, after reading and verifying all of it. Until everything is written,
 * checked and durable, a marker file prevents any system from starting on the folder. Returns the manifest.
 */
export async function restoreBackup(
  { from, to, sameInstallation = false }: RestoreOptions,
  progress: Progress,
): Promise<Manifest> {
  try {
    const source = typeof from === 'string' ? await openSource(from) : from;
    const folder = localPath(to);
    await requireEmpty(folder);
    const manifest = await source.verify(progress);
    await begin(folder);
    await requireRoom(folder, sizeOf(manifest));
    progress.step('Writing the data folder', sizeOf(manifest));
    await source.each(manifest, async (entry, bytes) => {
      requireSame(entry, await writeDurable(join(folder, entry.path), bytes));
      progress.add(entry.sizeBytes);
    });
    progress.step('Checking the data folder', sizeOf(manifest));
    await forEachConcurrently(manifest.files, async (entry) =>
      requireSame(entry, await measureFile(join(folder, entry.path), progress.add)),
    );
    await identify(folder, sameInstallation);
    await finish(folder);
    return manifest;
  } finally {
    progress.end();
  }
}

/** Entries that a separate file system contains from the start. */
const FILE_SYSTEM_ENTRIES = new Set(['lost+found']);

/** Returns whether a restore may use a folder, because it contains nothing that has to be kept. */
export async function isRestorable(folder: string): Promise<boolean> {
  const names = await readdir(folder).catch((error): string[] => {
    if (isMissing(error)) return [];
    if (error.code === 'ENOTDIR') throw new CommandError(EXIT.taken, `${folder} already exists, and is no folder`);
    throw error;
  });
  return names.includes(RESTORE_MARKER) || names.every((name) => FILE_SYSTEM_ENTRIES.has(name));
}

async function requireEmpty(folder: string): Promise<void> {
  if (await isRestorable(folder)) return;
  throw new CommandError(EXIT.taken, `${folder} is not empty: a backup can only be restored into an empty folder`);
}

/** Creates the folder, or deletes what an interrupted restore left in it. */
async function begin(folder: string): Promise<void> {
  makeFolder(folder);
  if (!existsSync(join(folder, RESTORE_MARKER))) {
    await writeDurable(join(folder, RESTORE_MARKER), once('The restore of this folder is incomplete.\n'));
  }
  await syncFolder(folder);
  for (const name of await readdir(folder)) {
    if (name !== RESTORE_MARKER && !FILE_SYSTEM_ENTRIES.has(name)) await rm(join(folder, name), { recursive: true });
  }
}

/**
 * Assigns a new installation id to the records, unless they keep theirs, and marks the bytes of files with the same id.
 */
async function identify(folder: string, sameInstallation: boolean): Promise<void> {
  const database = await openSqliteDatabase({ file: join(folder, DATABASE_FILE) });
  try {
    const records = database.installation();
    const before = await records.read();
    const installationId = (sameInstallation && before?.installationId) || newId();
    const origin = sameInstallation ? (before?.origin ?? 'upgrade') : 'restored';
    // Key fingerprints depend on the installation id. After a change, the next start records the fingerprints of the
    // keys it finds.
    const keys = before?.installationId === installationId ? before.keys : {};
    const bound = sameInstallation ? (before?.bound ?? []) : [];
    const now = { installationId, origin, bound, keys } as const;
    if (before === undefined) await records.insert(now);
    else await records.update(() => now);
    if (!existsSync(join(folder, FILES_FOLDER))) return;
    const files = await openBlobInstallation({ s3Url: undefined }, folder);
    await files.claim(installationId);
    await files.close();
  } finally {
    await database.close();
    fold(join(folder, DATABASE_FILE));
  }
}

/** Merges the write-ahead log of a closed database into its file. */
function fold(file: string): void {
  const connection = openConnection(file);
  connection.get('PRAGMA wal_checkpoint(TRUNCATE)');
  connection.close();
}

async function finish(folder: string): Promise<void> {
  await syncFolders(folder);
  await rm(join(folder, RESTORE_MARKER));
  await syncFolder(folder);
  await syncFolder(dirname(folder));
}
