import { randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, readdir, rename, rm, rmdir, stat, utimes } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import * as durable from '@commonplace/kit/durable';
import { lockFolder } from '@commonplace/kit/folder-lock';
import { type IdentifiedStore, MARK_FILE, openMarkFile } from '@commonplace/kit/installation';
import pLimit from 'p-limit';
import { measure, measureAll } from './measure.js';
import { BlobMissing, type BlobStore, type ExpectedBytes, requireExpected, requireKey, type Source } from './port.js';

/** Folder of complete blobs, relative to the store's folder. */
export const BLOB_FOLDER = 'blobs';
/** Folder of bytes whose put is not complete. */
const PUT_FOLDER = 'put';
/** Maximum bytes that one read returns. */
const CHUNK_BYTES = 1024 * 1024;
/**
 * Maximum number of chunks that are read at a time, which is the number of threads that Node.js reads files with. What
 * they have read while the event loop was busy is all handled in one turn of it: of 400 downloads that was a quarter of a
 * second, in which a server accepts one new connection.
 */
const READS_AT_ONCE = 4;

/**
 * Stores blobs as files of a folder: `blobs/<key>`, incomplete puts in `put/`, parts in `parts/<upload>/<key>/`. One
 * process at a time may open it; what an earlier one left in `put/` is deleted on opening.
 */
export async function openFolderStore(folder: string): Promise<BlobStore> {
  const lock = lockFolder(folder);
  await rm(join(folder, PUT_FOLDER), { recursive: true, force: true });
  return { ...createFolderStore(folder), exclusive: true, close: async () => lock.release() };
}

/** Opens the folder for a command while another process has it open: nothing is deleted on opening. */
export async function openSharedFolderStore(folder: string): Promise<BlobStore> {
  return createFolderStore(folder);
}

/** Opens the folder as a store that carries the id of its installation. */
export function openFolderInstallation(folder: string): IdentifiedStore {
  const isEmpty = async () => (await filesBelow(join(folder, BLOB_FOLDER)).catch(noneWhenMissing)).length === 0;
  return openMarkFile({ kind: 'files', place: `the folder ${folder}`, file: join(folder, MARK_FILE), isEmpty });
}

function createFolderStore(folder: string): BlobStore {
  const [blobs, puts, parts] = [BLOB_FOLDER, PUT_FOLDER, 'parts'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const installation = openFolderInstallation(folder);
  for (const each of [blobs, puts, parts]) durable.makeFolder(each);
  const pathOf = (key: string) => join(blobs, ...requireKey(key).split('/'));
  const known = new Set<string>();
  const partsOf = (key: string, upload: string) => join(parts, requireKey(upload), ...requireKey(key).split('/'));

  async function putAt(path: string, source: Source, expected?: ExpectedBytes) {
    const temporary = join(puts, randomUUID());
    const { bytes, stored } = measure(source);
    try {
      await writeAll(temporary, bytes);
      requireExpected(stored(), expected);
      await moveInto(temporary, path);
      return stored();
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
  }

  /** Renames a file to `path`, durably. A known folder that somebody has deleted meanwhile is created again. */
  async function moveInto(from: string, path: string): Promise<void> {
    const target = dirname(path);
    await makeFolder(target);
    try {
      await rename(from, path);
    } catch (error) {
      if (!isMissing(error) || !known.delete(target)) throw error;
      await makeFolder(target);
      await rename(from, path);
    }
    await syncFolder(target);
  }

  /** Creates a folder and makes its name durable; once per path. */
  async function makeFolder(path: string): Promise<void> {
    if (known.has(path)) return;
    await mkdir(path, { recursive: true, mode: 0o700 });
    for (let above = dirname(path); above.length >= folder.length; above = dirname(above)) await syncFolder(above);
    known.add(path);
  }

  async function listParts(key: string, upload: string) {
    const names = await readdir(partsOf(key, upload)).catch(noneWhenMissing);
    const sizes = await Promise.all(names.map((name) => stat(join(partsOf(key, upload), name))));
    return names
      .map((name, i) => ({ number: Number(name), sizeBytes: sizes[i]?.size ?? 0 }))
      .sort((a, b) => a.number - b.number);
  }

  /** Measures a blob that was assembled before a crash and whose parts are gone. */
  async function completedBefore(key: string, expected?: ExpectedBytes) {
    const stored = await measureAll(readFile(key, pathOf(key), 0));
    requireExpected(stored, expected);
    return stored;
  }

  const store: BlobStore = {
    exclusive: false,
    installationId: installation.readId,
    put: (key, source, expected) => putAt(pathOf(key), source, expected),
    size: (key) => stat(pathOf(key)).then(({ size }) => size, undefinedWhenMissing),
    read: (key, range) => readFile(key, pathOf(key), range?.offset ?? 0, range?.length ?? Number.POSITIVE_INFINITY),
    delete: (key) => rm(pathOf(key), { force: true }),
    async *list(prefix) {
      for (const path of await filesBelow(blobs)) {
        const key = relative(blobs, path).split(sep).join('/');
        if (!key.startsWith(prefix)) continue;
        const found = await stat(path).catch(undefinedWhenMissing);
        if (found !== undefined) yield { key, sizeBytes: found.size, storedAt: found.mtimeMs };
      }
    },

    async beginParts(key) {
      const upload = randomUUID();
      await makeFolder(partsOf(key, upload));
      return upload;
    },
    putPart: (key, upload, number, source, expected) =>
      putAt(join(partsOf(key, upload), String(number)), source, expected),
    parts: listParts,
    async completeParts(key, upload, expected) {
      const numbers = (await listParts(key, upload)).map(({ number }) => number);
      if (numbers.length === 0 && (await store.size(key)) !== undefined) return completedBefore(key, expected);
      async function* all() {
        for (const number of numbers) yield* readFile(key, join(partsOf(key, upload), String(number)), 0);
      }
      const stored = await putAt(pathOf(key), all(), expected);
      await store.abortParts(key, upload);
      return stored;
    },
    async abortParts(key, upload) {
      known.delete(partsOf(key, upload));
      await rm(join(parts, requireKey(upload)), { recursive: true, force: true });
    },
    async *unfinished(prefix) {
      for (const upload of await readdir(parts)) {
        for (const path of await foldersBelow(join(parts, upload))) {
          const key = relative(join(parts, upload), path).split(sep).join('/');
          const found = key.startsWith(prefix) ? await stat(path).catch(undefinedWhenMissing) : undefined;
          if (found !== undefined) yield { key, upload, begunAt: found.mtimeMs };
        }
      }
    },
    async move(from, to, expected) {
      if ((await store.size(from)) === undefined && (await store.size(to)) !== undefined) {
        return completedBefore(to, expected);
      }
      const stored = await measureAll(readFile(from, pathOf(from), 0));
      requireExpected(stored, expected);
      await utimes(pathOf(from), new Date(), new Date());
      await moveInto(pathOf(from), pathOf(to));
      return stored;
    },

    signGet: async () => undefined,
    signPut: async () => undefined,
    signPart: async () => undefined,
    path: pathOf,
    close: async () => {},
  };
  return store;
}

async function writeAll(path: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    for await (const chunk of bytes) await writeChunk(file, chunk);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function writeChunk(file: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let at = 0; at < chunk.length; ) at += (await file.write(chunk, at)).bytesWritten;
}

const limitReads = pLimit(READS_AT_ONCE);

async function* readFile(key: string, path: string, offset: number, length = Number.POSITIVE_INFINITY) {
  const file = await limitReads(open, path).catch((error) => {
    throw isMissing(error) ? new BlobMissing(key) : error;
  });
  try {
    let [at, left] = [offset, length];
    while (left > 0) {
      const size = Math.min(CHUNK_BYTES, left);
      const { bytesRead, buffer } = await limitReads(() => file.read(Buffer.allocUnsafe(size), 0, size, at));
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
      at += bytesRead;
      left -= bytesRead;
    }
  } finally {
    await file.close();
  }
}

/** Makes a file's name durable by syncing its folder. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

/** Returns the folders that contain no others, which hold parts; deletes an empty upload. */
async function foldersBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  const folders = entries.filter((entry) => entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name));
  const inner = folders.filter((one) => !folders.some((other) => other.startsWith(one + sep)));
  if (inner.length === 0) await rmdir(folder).catch(() => {});
  return inner;
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}

function undefinedWhenMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error;
}

function noneWhenMissing(error: unknown): string[] {
  if (isMissing(error)) return [];
  throw error;
}
