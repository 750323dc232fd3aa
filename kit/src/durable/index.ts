import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';

/**
 * Creates a folder, accessible to its owner only, and its missing parents. Their names survive a power cut. Creates one
 * folder at a time, because Node's option `recursive` never returns if an existing parent accepts no folders (`/proc`).
 */
export function makeFolder(path: string): void {
  const folders = [resolve(path)];
  for (let above = dirname(resolve(path)); !existsSync(above); above = dirname(above)) folders.unshift(above);
  for (const folder of folders) if (makeOne(folder)) syncFolder(dirname(folder));
}

/** Creates a folder in an existing one. Returns false if it is there already. */
function makeOne(folder: string): boolean {
  try {
    mkdirSync(folder, { mode: 0o700 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !statSync(folder).isDirectory()) throw error;
    return false;
  }
}

/**
 * Creates a file if it is missing, and removes all permissions but the owner's from an existing one. An existing file
 * is not opened: closing it would release the locks that SQLite holds on it in this process.
 */
export function makePrivate(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    closeToOthers(path);
  }
}

/** Removes all permissions but the owner's from a file, if it exists and belongs to this user. */
export function closeToOthers(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined || (found.mode & 0o077) === 0 || found.uid !== process.getuid?.()) return;
  chmodSync(path, found.mode & 0o700);
}

/**
 * Writes a file that only its owner may read, replacing one of the same name. A reader gets either the old text or the
 * complete new one, even after a power cut. The file is durable when this returns.
 */
export function writeSmallFile(path: string, text: string): void {
  const part = `${path}.part`;
  const file = openSync(part, 'w', 0o600);
  try {
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(part, path);
  syncFolder(dirname(resolve(path)));
}

/** Makes the names in a folder durable. */
export function syncFolder(folder: string): void {
  const opened = openSync(folder, 'r');
  try {
    fsyncSync(opened);
  } finally {
    closeSync(opened);
  }
}
