import { createHash } from 'node:crypto';
import { type FileHandle, link, mkdir, open, readdir, statfs } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { CommandError, EXIT } from '../exit.js';

const CHUNK_BYTES = 1024 * 1024;
/** Files that are copied or read at the same time. */
export const AT_ONCE = 8;

export interface Measured {
  readonly sizeBytes: number;
  readonly sha256: string;
}

/** The bytes of a file, in chunks that are good until the next is asked for. */
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

/** Reads a file to its end. `read` is told of each chunk's size. */
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

/** Writes bytes to a file that must not be there, readable by its owner alone; they are durable when it resolves. */
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

/** Writes all of a chunk, however much the system takes at once. */
export async function writeAll(file: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let at = 0; at < chunk.length; ) at += (await file.write(chunk, at)).bytesWritten;
}

export async function* once(bytes: Uint8Array | string): AsyncIterable<Buffer> {
  yield Buffer.from(bytes as string);
}

/** The paths of all files below a folder, by `/`, in order; none where it is missing. */
export async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch((error) => {
    if (isMissing(error)) return [];
    throw error;
  });
  const files = entries.filter((entry) => !entry.isDirectory());
  return files.map(({ parentPath, name }) => relative(folder, join(parentPath, name)).split(sep).join('/')).sort();
}

/** Makes the names in a folder, and in all folders below it, durable. */
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

/** Gives a file a second name; false where it is gone. */
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

/** Throws where a folder's file system has less room than that. */
export async function requireRoom(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize >= bytes) return;
  const mib = (count: number) => Math.ceil(count / 2 ** 20);
  throw new CommandError(
    EXIT.failed,
    `${folder} has room for ${mib(bavail * bsize)} MiB, and ${mib(bytes)} MiB are needed`,
  );
}
