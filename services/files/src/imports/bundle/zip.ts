import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type Bundle, type Entry, ImportFault } from '../sources/port.js';
import { type Bytes, fileBytes } from './bytes.js';
import { type PackedEntry, readDirectory } from './directory.js';
import { type ArchiveLimits, limitFault, type Tally } from './limits.js';
import { entryFault, isSmall, openEntry, readEntry } from './unpack.js';

/** A bundle that has to be closed. */
export interface OpenBundle extends Bundle {
  /**
   * Unpacks everything once and discards it. Rejects with an `ArchiveFault` when an entry has another size than
   * declared.
   */
  verify(stopped: () => boolean): Promise<void>;
  close(): Promise<void>;
}

/** File names of the parts of an archive that was exported in several parts. */
const PART = /(^|[/ _-])part-?\d+\.zip$/i;
/** Entries that are verified concurrently. */
const AT_ONCE = 4;

/**
 * Opens an archive within the limits. Its parts (`Part-1.zip`), or an archive that is its only entry, are unpacked into
 * `scratch` and their entries added to the others. Closing the bundle closes `bytes`.
 */
export async function openZipBundle(bytes: Bytes, limits: ArchiveLimits, scratch: string): Promise<OpenBundle> {
  const found = new Map<string, PackedEntry>();
  const opened: Bytes[] = [bytes];
  const temporary: string[] = [];
  const tally: Tally = { entries: 0, unpacked: 0 };

  async function look(entries: readonly PackedEntry[], prefix: string, depth: number): Promise<void> {
    const isPart = (entry: PackedEntry) =>
      PART.test(entry.path) || (entries.length === 1 && /\.zip$/i.test(entry.path));
    const parts = entries.filter(isPart);
    for (const entry of entries) if (!isPart(entry)) add(entry, prefix);
    for (const entry of parts) {
      if (depth >= limits.nesting)
        throw limitFault(limits, 'nesting', `${entry.path} is an archive within too many other archives.`);
      await look(await unpackPart(entry), entry.path.replace(/\.zip$/i, ''), depth + 1);
    }
  }

  function add(entry: PackedEntry, prefix: string): void {
    const path = found.has(entry.path) ? `${prefix}/${entry.path}` : entry.path;
    found.set(path, path === entry.path ? entry : { ...entry, path });
  }

  async function unpackPart(entry: PackedEntry): Promise<PackedEntry[]> {
    await mkdir(scratch, { recursive: true, mode: 0o700 });
    const path = join(scratch, randomUUID());
    temporary.push(path);
    await pipeline(await openEntry(entry), createWriteStream(path, { flags: 'wx', mode: 0o600 }));
    const part = await fileBytes(path);
    opened.push(part);
    return readDirectory(part, limits, tally);
  }

  async function close(): Promise<void> {
    for (const one of opened) await one.close();
    for (const path of temporary) await rm(path, { force: true });
  }

  try {
    await look(await readDirectory(bytes, limits, tally), '', 0);
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
    entries: [...found.values()],
    entry: (path) => found.get(path),
    open: async (path) => openEntry(find(path)),
    async read(path, limit) {
      const entry = find(path);
      requireSize(entry, limit);
      return readEntry(entry);
    },
    async verify(stopped) {
      const all = found.values();
      await Promise.all(
        Array.from({ length: AT_ONCE }, async () => {
          for (const entry of all) {
            if (stopped()) return;
            await verifyEntry(entry);
          }
        }),
      );
    },
    close,
  };
}

export function requireSize({ path, sizeBytes }: Entry, limit: number): void {
  if (sizeBytes <= limit) return;
  throw new ImportFault('item_too_large', `${path} has ${sizeBytes} bytes; at most ${limit} are read.`);
}

/** Ignores damaged entries, which are reported when they are needed; throws when an entry's size is not as declared. */
async function verifyEntry(entry: PackedEntry): Promise<void> {
  try {
    if (isSmall(entry)) await readEntry(entry);
    else for await (const _ of await openEntry(entry));
  } catch (thrown) {
    const error = entryFault(thrown, entry.path);
    if (error instanceof ImportFault && error.code !== 'archive_size_mismatch') return;
    throw error;
  }
}
