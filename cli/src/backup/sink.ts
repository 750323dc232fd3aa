import { createHash } from 'node:crypto';
import { createWriteStream, readdirSync, rmSync, statSync } from 'node:fs';
import { open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { makeFolder } from '@commonplace/kit/durable';
import { pack as createPack, type Pack } from 'tar-stream';
import { clearOnExit } from '../clear-on-exit.js';
import { CommandError, EXIT } from '../exit.js';
import {
  CONCURRENCY,
  isMissing,
  type Measured,
  once,
  requireRoom,
  syncFolder,
  syncFolders,
  writeDurable,
} from './files.js';
import { SEAL, sha256Of } from './manifest.js';
import { localPath } from './places.js';

/** The target of a backup. The backup is incomplete until `seal` has resolved. */
export interface Sink {
  /** Number of files that the target accepts in parallel. */
  readonly atOnce: number;
  /** Throws if the target has less free space than `bytes`. */
  requireRoom(bytes: number): Promise<void>;
  add(path: string, bytes: AsyncIterable<Uint8Array>, sizeBytes: number): Promise<Measured>;
  /** Adds the manifest and makes the whole backup durable. */
  seal(path: string, manifest: string): Promise<void>;
  /** Deletes everything that has been written. */
  abort(): Promise<void>;
}

/** Returns whether a path names an archive file, by its suffix. */
const isArchive = (path: string): boolean => path.endsWith('.tar');

/** Name of the target for standard output. */
export const STANDARD_OUTPUT = '-';

export async function openSink(to: string): Promise<Sink> {
  if (to === STANDARD_OUTPUT) return openStream(process.stdout);
  return isArchive(to) ? openArchive(localPath(to)) : openFolder(localPath(to));
}

async function openFolder(folder: string): Promise<Sink> {
  const there = statSync(folder, { throwIfNoEntry: false });
  const isNew = there === undefined;
  if (there?.isDirectory() === false) throw new CommandError(EXIT.taken, `${folder} already exists, and is no folder`);
  makeFolder(folder);
  if ((await readdir(folder)).length > 0) throw new CommandError(EXIT.taken, `${folder} is not empty`);
  const clear = () => {
    const written = isNew ? [folder] : readdirSync(folder).map((name) => join(folder, name));
    for (const path of written) rmSync(path, { recursive: true, force: true, maxRetries: 3 });
  };
  const forget = clearOnExit(clear);
  return {
    atOnce: CONCURRENCY,
    requireRoom: (bytes) => requireRoom(folder, bytes),
    add: (path, bytes) => writeDurable(join(folder, ...path.split('/')), bytes),
    async seal(path, manifest) {
      await syncFolders(folder);
      await writeDurable(join(folder, path), once(manifest));
      await writeDurable(join(folder, SEAL), once(`${sha256Of(manifest)}\n`));
      await syncFolder(folder);
      await syncFolder(dirname(folder));
      forget();
    },
    async abort() {
      clear();
      forget();
    },
  };
}

/** Creates a tar archive as the target. Its end is followed by one line with the SHA-256 of everything before. */
export async function openArchive(file: string): Promise<Sink> {
  const there = await stat(file).catch((error) => (isMissing(error) ? undefined : Promise.reject(error)));
  if (there !== undefined) throw new CommandError(EXIT.taken, `${file} already exists`);
  makeFolder(dirname(file));
  const part = `${file}.part`;
  await rm(part, { force: true });
  const forget = clearOnExit(() => rmSync(part, { force: true }));
  const archive = packArchive((bytes) => pipeline(bytes, createWriteStream(part, { flags: 'wx', mode: 0o600 })));
  return {
    atOnce: 1,
    requireRoom: (bytes) => requireRoom(dirname(file), bytes),
    add: archive.add,
    async seal(path, manifest) {
      await archive.seal(path, manifest);
      const handle = await open(part, 'r');
      await handle.sync().finally(() => handle.close());
      await rename(part, file);
      await syncFolder(dirname(file));
      forget();
    },
    async abort() {
      await archive.abort();
      await rm(part, { force: true });
      forget();
    },
  };
}

/** Writes an archive to a stream. If the backup fails, the output lacks the seal, so that no restore accepts it. */
function openStream(stream: NodeJS.WriteStream): Sink {
  if (stream.isTTY)
    throw new CommandError(EXIT.usage, 'refusing to write a backup to a terminal: redirect standard output');
  return openUpload((bytes) => pipeline(bytes, stream, { end: false }));
}

/**
 * Creates a target that streams an archive to `send`. `send` has to make it durable, and has to leave nothing behind if
 * the stream fails.
 */
export function openUpload(send: (bytes: Readable) => Promise<unknown>): Sink {
  return { atOnce: 1, requireRoom: async () => {}, ...packArchive(send) };
}

/** Packs a tar archive with its seal, and passes its bytes to `write`. */
function packArchive(write: (bytes: Readable) => Promise<unknown>): Pick<Sink, 'add' | 'seal' | 'abort'> {
  const pack = createPack();
  const sealed = sealing();
  const packed = pipeline(pack, sealed);
  // A failure of either side ends the other.
  const written = Promise.all([packed, write(sealed).catch((error) => Promise.reject(destroyed(pack, error)))]);
  written.catch(() => {});

  async function add(path: string, bytes: AsyncIterable<Uint8Array>, sizeBytes: number): Promise<Measured> {
    const hash = createHash('sha256');
    const entry = pack.entry({ name: path, size: sizeBytes, mode: 0o600, mtime: new Date(0) });
    async function* copied() {
      for await (const chunk of bytes) {
        hash.update(chunk);
        yield Buffer.from(chunk);
      }
    }
    await Promise.race([pipeline(copied, entry), written.then(() => Promise.reject(new Error('the archive ended')))]);
    return { sizeBytes, sha256: hash.digest('hex') };
  }

  return {
    add,
    async seal(path, manifest) {
      await add(path, once(manifest), Buffer.byteLength(manifest));
      pack.finalize();
      await written;
    },
    async abort() {
      pack.destroy();
      await written.catch(() => {});
    },
  };
}

function destroyed(pack: Pack, error: unknown): unknown {
  pack.destroy(error as Error);
  return error;
}

/** Creates a transform that appends the SHA-256 of everything that has passed through it. */
function sealing(): Transform {
  const hash = createHash('sha256');
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      done(null, chunk);
    },
    flush(done) {
      done(null, `${hash.digest('hex')}\n`);
    },
  });
}

/** Size in bytes of the checksum line after the end of an archive: 64 digits and a line feed. */
export const SEAL_BYTES = 65;
