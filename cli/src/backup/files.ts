import { createHash } from 'node:crypto';
import { type FileHandle, link, mkdir, open, readdir, statfs } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { CommandError, EXIT } from '../exit.js';

const CHUNK_BYTES = 1024 * 1024;
/** Number of files that are copied or read in parallel. */
export const CONCURRENCY = 8;

export interface Measured {
  readonly sizeBytes: number;
  readonly sha256: string;
}

/** Yields the bytes of a file in chunks. A chunk is valid only until the next one is requested. */
export async function* bytesOf(path: string): AsyncIterable<Buffer> {
  const file = await open(path);
  try {
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    for (;;) {
      const { bytesRead } = await file.read(chunk, 0, CHUNK_BYTES, null);
      if (bytesRead === 0) return;
      yield chunk.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

/** Reads a file to its end. Returns its size and checksum; calls `read` with the size of each chunk. */
export async function measureFile(path: string, read: (bytes: number) => void = () => {}): Promise<Measured> {
  const hash = createHash('sha256');
  let sizeBytes = 0;
  for await (const chunk of bytesOf(path)) {
    hash.update(chunk);
    sizeBytes += chunk.length;
    read(chunk.length);
  }
  return { sizeBytes, sha256: hash.digest('hex') };
}

/**
 * Writes bytes to a new file that only its owner may read. Resolves once they are durable. Throws if the file exists.
 */
export async function writeDurable(path: string, bytes: AsyncIterable<Uint8Array>): Promise<Measured> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const file = await open(path, 'wx', 0o600);
  const hash = createHash('sha256');
  let sizeBytes = 0;
  try {
    for await (const chunk of bytes) {
      hash.update(chunk);
      sizeBytes += chunk.length;
      await writeAll(file, chunk);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return { sizeBytes, sha256: hash.digest('hex') };
}

/** Writes a whole chunk, with as many calls as the system needs. */
async function writeAll(file: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let at = 0; at < chunk.length; ) at += (await file.write(chunk, at)).bytesWritten;
}

export async function* once(bytes: Uint8Array | string): AsyncIterable<Buffer> {
  yield Buffer.from(bytes as string);
}

/** Returns the sorted paths of all files below a folder, separated by `/`; none if the folder is missing. */
export async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch((error) => {
    if (isMissing(error)) return [];
    throw error;
  });
  const files = entries.filter((entry) => !entry.isDirectory());
  return files.map(({ parentPath, name }) => relative(folder, join(parentPath, name)).split(sep).join('/')).sort();
}

/** Makes the directory entries of a folder, and of all folders below it, durable. */
export async function syncFolders(folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  const below = entries.filter((entry) => entry.isDirectory()).map(({ parentPath, name }) => join(parentPath, name));
  for (const path of [...below, folder]) await syncFolder(path);
}

export async function syncFolder(path: string): Promise<void> {
  const handle = await open(path);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Creates a hard link to a file. Returns false if the file no longer exists. */
export async function linkFile(from: string, to: string): Promise<boolean> {
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

export function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}

/** Throws if a folder's file system has less free space than `bytes`. */
export async function requireRoom(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize >= bytes) return;
  const mib = (count: number) => Math.ceil(count / 2 ** 20);
  throw new CommandError(
    EXIT.failed,
    `${folder} has room for ${mib(bavail * bsize)} MiB, but ${mib(bytes)} MiB are required`,
  );
}
