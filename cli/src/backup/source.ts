import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text as textOf } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import pLimit from 'p-limit';
import { extract as createExtract, type Extract } from 'tar-stream';
import { CommandError, damaged, EXIT } from '../exit.js';
import type { Progress } from '../progress.js';
import { bytesOf, CONCURRENCY, filesBelow, isMissing, type Measured, measureFile } from './files.js';
import { type Entry, MANIFEST, type Manifest, parseManifest, SEAL, sha256Of } from './manifest.js';
import { localPath } from './places.js';
import { SEAL_BYTES } from './sink.js';

/** A backup that can be read. */
export interface Source {
  /** Reads every byte of the backup. Returns its manifest. Throws if anything differs from what was written. */
  verify(progress: Progress): Promise<Manifest>;
  /** Calls `take` once for each file of the manifest. */
  each(manifest: Manifest, take: (entry: Entry, bytes: AsyncIterable<Uint8Array>) => Promise<void>): Promise<void>;
}

export async function openSource(from: string): Promise<Source> {
  const path = localPath(from);
  const found = await stat(path).catch((error) => (isMissing(error) ? undefined : Promise.reject(error)));
  if (found === undefined) throw new CommandError(EXIT.missing, `${path} does not exist`);
  return found.isDirectory() ? folderSource(path) : archiveSource(fileBytes(path, found.size));
}

/** Throws if the size or checksum of a file differs from its manifest entry. */
export function requireSame({ path, sizeBytes, sha256 }: Entry, found: Measured): void {
  if (found.sizeBytes !== sizeBytes) throw damaged(`${path} has ${found.sizeBytes} bytes instead of ${sizeBytes}`);
  if (found.sha256 !== sha256) throw damaged(`${path} has changed: its SHA-256 differs from the manifest`);
}

/** Runs `act` on all items, several at a time. After a failure no further items are started. */
export async function forEachConcurrently<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  const limit = pLimit(CONCURRENCY);
  try {
    await Promise.all(items.map((item) => limit(() => act(item))));
  } finally {
    limit.clearQueue();
  }
}

function folderSource(folder: string): Source {
  return {
    async verify(progress) {
      const [text, seal] = await Promise.all([readOwn(folder, MANIFEST), readOwn(folder, SEAL)]);
      if (seal !== `${sha256Of(text)}\n`) throw damaged(`${MANIFEST} has changed: its SHA-256 differs from the seal`);
      const manifest = parseManifest(text);
      const known = new Set([MANIFEST, SEAL, ...manifest.files.map(({ path }) => path)]);
      const unexpected = (await filesBelow(folder)).find((path) => !known.has(path));
      if (unexpected !== undefined) throw damaged(`${JSON.stringify(unexpected)} does not belong to the backup`);
      progress.step('Checking the backup', sizeOf(manifest));
      await forEachConcurrently(manifest.files, async (entry) => {
        requireSame(entry, await measureFile(join(folder, entry.path), progress.add).catch(missing(entry.path)));
      });
      return manifest;
    },
    each: (manifest, take) =>
      forEachConcurrently(manifest.files, (entry) =>
        take(entry, bytesOf(join(folder, entry.path))).catch(missing(entry.path)),
      ),
  };
}

async function readOwn(folder: string, name: string): Promise<string> {
  return readFile(join(folder, name), 'utf8').catch((error) => {
    if (isMissing(error)) throw damaged(`${folder} is not a complete backup: there is no ${name}`);
    throw error;
  });
}

function missing(path: string) {
  return (error: unknown): never => {
    throw isMissing(error) ? damaged(`${path} is missing`) : error;
  };
}

/** The bytes of an archive. They can be read several times. */
interface ArchiveBytes {
  /** Name of the archive in error messages. */
  readonly name: string;
  readonly sizeBytes: number;
  read(offset: number, length: number): Readable;
}

function fileBytes(file: string, sizeBytes: number): ArchiveBytes {
  const read = (start: number, length: number) =>
    createReadStream(file, { start, end: start + length - 1, highWaterMark: 1024 * 1024 });
  return { name: file, sizeBytes, read };
}

export function archiveSource({ name, sizeBytes, read }: ArchiveBytes): Source {
  const bodyBytes = sizeBytes - SEAL_BYTES;
  const body = () => read(0, bodyBytes);
  return {
    async verify(progress) {
      if (bodyBytes <= 0) throw damaged(`${name} is not a complete backup`);
      progress.step('Checking the backup', sizeBytes);
      const hash = createHash('sha256');
      for await (const chunk of body()) {
        hash.update(chunk as Buffer);
        progress.add((chunk as Buffer).length);
      }
      if ((await textOf(read(bodyBytes, SEAL_BYTES))) !== `${hash.digest('hex')}\n`) {
        throw damaged(`${name} has changed, or is not a backup of Commonplace: its SHA-256 differs from the seal`);
      }
      return manifestIn(body());
    },
    async each(manifest, take) {
      const entries = new Map(manifest.files.map((entry) => [entry.path, entry]));
      await eachEntry(body(), async (path, bytes) => {
        const entry = entries.get(path);
        if (entry !== undefined) await take(entry, bytes);
        entries.delete(path);
      });
      const [left] = entries.keys();
      if (left !== undefined) throw damaged(`${left} is missing`);
    },
  };
}

async function manifestIn(body: Readable): Promise<Manifest> {
  let manifest: Manifest | undefined;
  await eachEntry(body, async (path, bytes) => {
    if (path !== MANIFEST) return;
    const chunks: Uint8Array[] = [];
    for await (const chunk of bytes) chunks.push(chunk);
    manifest = parseManifest(Buffer.concat(chunks).toString('utf8'));
  });
  if (manifest === undefined) throw damaged(`there is no ${MANIFEST} in the archive`);
  return manifest;
}

/** Reads the entries of a tar archive one by one. */
async function eachEntry(
  body: Readable,
  take: (path: string, bytes: AsyncIterable<Uint8Array>) => Promise<void>,
): Promise<void> {
  const extract: Extract = createExtract();
  const reading = pipeline(body, extract);
  reading.catch(() => {});
  for await (const entry of extract) {
    await take(entry.header.name, entry as AsyncIterable<Uint8Array>);
    entry.resume();
  }
  await reading;
}

export function sizeOf({ files }: Manifest): number {
  return files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
}
