import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Bundle, type Entry, ImportFault } from '../sources/port.js';
import { type Bytes, fileBytes } from './bytes.js';
import { type Packed, readDirectory } from './directory.js';
import { type ArchiveLimits, beyond, type Tally } from './limits.js';
import { entryFault, isSmall, openEntry, readEntry } from './unpack.js';

/** A bundle that has to be closed. */
export interface OpenBundle extends Bundle {
  /** Unpacks everything once and throws it away: rejects with an ArchiveFault where an entry is another size. */
  verify(stopped: () => boolean): Promise<void>;
  close(): Promise<void>;
}

/** An archive of several parts holds the others under such names. */
const PART = /(^|[/ _-])part-?\d+\.zip$/i;
/** Entries that are looked at together. */
const AT_ONCE = 4;

interface Opened {
  readonly bytes: Bytes;
  readonly entries: readonly Packed[];
}

/**
 * Opens an archive within the limits. Its parts (`Part-1.zip`), and an archive that is all there is in it, are
 * unpacked into `scratch`, and their entries stand beside the others. Closes `bytes` when it is closed.
 */
export async function openZipBundle(bytes: Bytes, limits: ArchiveLimits, scratch: string): Promise<OpenBundle> {
  const found = new Map<string, { readonly bytes: Bytes; readonly entry: Packed }>();
  const opened: Bytes[] = [bytes];
  const temporary: string[] = [];
  const tally: Tally = { entries: 0, unpacked: 0 };

  async function look({ bytes: held, entries }: Opened, prefix: string, depth: number): Promise<void> {
    const isPart = (entry: Packed) => PART.test(entry.path) || (entries.length === 1 && /\.zip$/i.test(entry.path));
    const parts = entries.filter(isPart);
    for (const entry of entries) if (!isPart(entry)) found.set(freePath(entry.path, prefix), { bytes: held, entry });
    for (const entry of parts) {
      if (depth >= limits.nesting)
        throw beyond(limits, 'nesting', `${entry.path} is an archive within too many others.`);
      await look(await unpackPart(held, entry), entry.path.replace(/\.zip$/i, ''), depth + 1);
    }
  }

  function freePath(path: string, prefix: string): string {
    return found.has(path) ? `${prefix}/${path}` : path;
  }

  async function unpackPart(held: Bytes, entry: Packed): Promise<Opened> {
    await mkdir(scratch, { recursive: true });
    const path = join(scratch, randomUUID());
    temporary.push(path);
    await pipeline(await openEntry(held, entry), createWriteStream(path, { flags: 'wx', mode: 0o600 }));
    const part = await fileBytes(path);
    opened.push(part);
    return { bytes: part, entries: await readDirectory(part, limits, tally) };
  }

  async function close(): Promise<void> {
    for (const one of opened) await one.close();
    for (const path of temporary) await rm(path, { force: true });
  }

  try {
    await look({ bytes, entries: await readDirectory(bytes, limits, tally) }, '', 0);
  } catch (error) {
    await close();
    throw error;
  }

  const find = (path: string) => {
    const known = found.get(path);
    if (known === undefined) throw new ImportFault('archive_entry_missing', `There is no ${path} in the archive.`);
    return known;
  };
  return {
    entries: [...found].map(([path, { entry }]) => entryOf(path, entry)),
    async open(path): Promise<Readable> {
      const { bytes: held, entry } = find(path);
      return openEntry(held, entry);
    },
    async read(path, limit) {
      const { bytes: held, entry } = find(path);
      requireSize(entry, limit);
      return readEntry(held, entry);
    },
    async verify(stopped) {
      const all = [...found.values()].values();
      await Promise.all(
        Array.from({ length: AT_ONCE }, async () => {
          for (const { bytes: held, entry } of all) {
            if (stopped()) return;
            await verifyEntry(held, entry);
          }
        }),
      );
    },
    close,
  };
}

function entryOf(path: string, { sizeBytes, modifiedAt }: Packed): Entry {
  return modifiedAt === undefined ? { path, sizeBytes } : { path, sizeBytes, modifiedAt };
}

export function requireSize({ path, sizeBytes }: Entry, limit: number): void {
  if (sizeBytes <= limit) return;
  throw new ImportFault('item_too_large', `${path} has ${sizeBytes} bytes; ${limit} are read at the most.`);
}

/** What is damaged is found when it is needed; what lies about its size ends everything. */
async function verifyEntry(bytes: Bytes, entry: Packed): Promise<void> {
  try {
    if (isSmall(entry)) await readEntry(bytes, entry);
    else for await (const _ of await openEntry(bytes, entry));
  } catch (thrown) {
    const error = entryFault(thrown, entry.path);
    if (error instanceof ImportFault && error.code !== 'archive_size_mismatch') return;
    throw error;
  }
}
