import { existsSync } from 'node:fs';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { RESTORE_MARKER } from '@commonplace/kit/runtime';
import { CommandError, EXIT } from '../exit.js';
import type { Progress } from '../progress.js';
import { isMissing, measureFile, once, requireRoom, syncFolder, syncFolders, writeDurable } from './files.js';
import type { Manifest } from './manifest.js';
import { eachAtOnce, openSource, requireSame, sizeOf } from './source.js';

export interface RestoreOptions {
  readonly from: string;
  /** A data folder: missing, empty, or left by a restore that was interrupted. */
  readonly to: string;
}

/**
 * Restores a backup into an empty data folder, having read all of it first. Until the last byte is there, checked and
 * durable, a marker lies in the folder that no system starts on. Gives what was restored.
 */
export async function restoreBackup({ from, to }: RestoreOptions, progress: Progress): Promise<Manifest> {
  try {
    const source = await openSource(from);
    const folder = resolve(to);
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
    await eachAtOnce(manifest.files, async (entry) =>
      requireSame(entry, await measureFile(join(folder, entry.path), progress.add)),
    );
    await finish(folder);
    return manifest;
  } finally {
    progress.end();
  }
}

/** A file system of its own has this folder from the start. */
const ALWAYS_THERE = new Set(['lost+found']);

async function requireEmpty(folder: string): Promise<void> {
  const names = await readdir(folder).catch((error): string[] => {
    if (isMissing(error)) return [];
    throw error;
  });
  if (names.includes(RESTORE_MARKER) || names.every((name) => ALWAYS_THERE.has(name))) return;
  throw new CommandError(EXIT.taken, `${folder} is not empty: a backup is restored into an empty folder only`);
}

/** Makes the folder, or empties it of what an interrupted restore has left. */
async function begin(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (!existsSync(join(folder, RESTORE_MARKER))) {
    await writeDurable(join(folder, RESTORE_MARKER), once('The restore of this folder has not come to its end.\n'));
  }
  await syncFolder(folder);
  for (const name of await readdir(folder)) {
    if (name !== RESTORE_MARKER && !ALWAYS_THERE.has(name)) await rm(join(folder, name), { recursive: true });
  }
}

async function finish(folder: string): Promise<void> {
  await syncFolders(folder);
  await rm(join(folder, RESTORE_MARKER));
  await syncFolder(folder);
  await syncFolder(dirname(folder));
}
