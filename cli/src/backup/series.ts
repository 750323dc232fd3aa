import { statSync } from 'node:fs';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { openBucket } from '@commonplace/files/blobs';
import { CommandError, EXIT } from '../exit.js';
import { isMissing } from './files.js';
import { localPath, parseBucketUrl, withoutKey } from './places.js';
import { openArchive, openUpload, type Sink } from './sink.js';
import { archiveSource, openSource, type Source } from './source.js';

/** A folder or bucket with backups of several times. Each is an archive that is named after its time. */
interface Series {
  /** Returns the names of the backups, the oldest first. Archives with other names are ignored. */
  list(): Promise<string[]>;
  openSink(name: string): Promise<Sink>;
  openSource(name: string): Promise<Source>;
  delete(name: string): Promise<void>;
  close(): Promise<void>;
}

const NAME = /^commonplace-\d{4}-\d\d-\d\dt\d\d-\d\d-\d\dz\.tar$/;

/** Returns the name for a backup that starts at a time: `commonplace-2026-11-21t01-30-00z.tar`. */
export function nameOf(time: Date): string {
  return `commonplace-${time.toISOString().slice(0, 19).replaceAll(':', '-').toLowerCase()}z.tar`;
}

/** Opens a folder, or a bucket by its URL, `https://host/bucket/prefix?region=…`. */
export function openSeries(place: string): Promise<Series> {
  return parseBucketUrl(place) === undefined ? openInFolder(localPath(place)) : openInBucket(place);
}

/**
 * Splits the URL of an archive in a bucket into the series and the archive's name; undefined if `place` is not such a
 * URL.
 */
export function archiveInBucket(place: string): { readonly series: string; readonly name: string } | undefined {
  const url = parseBucketUrl(place);
  if (url === undefined) return undefined;
  const name = url.pathname.slice(url.pathname.lastIndexOf('/') + 1);
  if (!name.endsWith('.tar')) return undefined;
  url.pathname = url.pathname.slice(0, -name.length);
  return { series: url.href, name };
}

/** Returns the name of the newest backup. Throws if there is none. */
export async function newestIn(series: Series, place: string): Promise<string> {
  const newest = (await series.list()).at(-1);
  if (newest === undefined) throw new CommandError(EXIT.missing, `there is no backup in ${withoutKey(place)}`);
  return newest;
}

/**
 * Deletes all but the newest `keep` backups. Keeps the one that was just added in any case: while a clock was wrong,
 * backups may have got names of the future. Returns the names of the deleted ones.
 */
export async function deleteOlder(series: Series, keep: number, added: string): Promise<string[]> {
  const others = (await series.list()).filter((name) => name !== added);
  const old = others.slice(0, Math.max(0, others.length - (keep - 1)));
  for (const name of old) await series.delete(name);
  return old;
}

async function openInFolder(folder: string): Promise<Series> {
  if (statSync(folder, { throwIfNoEntry: false })?.isFile())
    throw new CommandError(EXIT.usage, `${folder} is a file, not a folder of backups`);
  return {
    async list() {
      const names = await readdir(folder).catch((error): string[] => {
        if (isMissing(error)) return [];
        throw error;
      });
      return names.filter((name) => NAME.test(name)).sort();
    },
    async openSink(name) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await removeUnfinished(folder);
      return openArchive(join(folder, name));
    },
    openSource: (name) => openSource(join(folder, name)),
    delete: (name) => rm(join(folder, name)),
    close: async () => {},
  };
}

/** Milliseconds after which the remains of a killed backup are deleted. */
const STALE_MS = 24 * 3_600_000;

async function removeUnfinished(folder: string): Promise<void> {
  for (const file of await readdir(folder)) {
    if (!file.endsWith('.part') || !NAME.test(file.slice(0, -'.part'.length))) continue;
    const { mtimeMs } = await stat(join(folder, file));
    if (Date.now() - mtimeMs > STALE_MS) await rm(join(folder, file), { force: true });
  }
}

async function openInBucket(url: string): Promise<Series> {
  const bucket = await openBucket(url);
  return {
    async list() {
      const names: string[] = [];
      for await (const { key } of bucket.list('')) if (NAME.test(key)) names.push(key);
      return names.sort();
    },
    async openSink(name) {
      if ((await bucket.size(name)) !== undefined) throw new CommandError(EXIT.taken, `${name} already exists`);
      return openUpload((bytes) => bucket.put(name, bytes));
    },
    async openSource(name) {
      const sizeBytes = await bucket.size(name);
      if (sizeBytes === undefined) throw new CommandError(EXIT.missing, `there is no ${name} in ${withoutKey(url)}`);
      const read = (offset: number, length: number) => Readable.from(bucket.read(name, { offset, length }));
      return archiveSource({ name, sizeBytes, read });
    },
    delete: (name) => bucket.delete(name),
    close: () => bucket.close(),
  };
}
