import { isAscii } from 'node:buffer';
import { type Breathe, createBreathe } from '@commonplace/kit/slices';
import { fromRandomAccessReaderPromise, getFileNameLowLevel, validateFileName, type Entry as ZipEntry } from 'yauzl';
import { isUtf8 } from '../../media/charset.js';
import { type Entry, ImportFault } from '../sources/port.js';
import { type Bytes, DirectoryReader } from './bytes.js';
import {
  ArchiveFault,
  type ArchiveLimits,
  countEntries,
  countEntry,
  limitFault,
  requireRatio,
  type Tally,
} from './limits.js';

/** Describes an entry of an archive. It is kept small, because an archive may have 100,000 of them. */
export interface PackedEntry extends Entry {
  /** The archive that contains it. */
  readonly archive: Bytes;
  readonly offset: number;
  readonly packedBytes: number;
  readonly crc: number;
  /** Compression method: 0 stored, 8 deflated. */
  readonly method: number;
  /** Bytes of the name, which the entry's local header repeats. */
  readonly nameBytes: number;
}

/** Reads an archive's directory. Rejects with an `ArchiveFault` when it is not a ZIP archive that may be unpacked. */
export async function readDirectory(bytes: Bytes, limits: ArchiveLimits, tally: Tally): Promise<PackedEntry[]> {
  if (bytes.size > limits.archiveBytes)
    throw limitFault(limits, 'archiveBytes', `The archive has ${bytes.size} bytes.`);
  try {
    return await readEntries(bytes, limits, tally);
  } catch (error) {
    if (error instanceof ImportFault) throw error;
    const { message } = error as Error;
    if (/encrypt/.test(message)) throw encryptedFault();
    throw new ArchiveFault('archive_invalid', `The file is not a readable ZIP archive: ${message}.`, false, {
      cause: error,
    });
  }
}

async function readEntries(bytes: Bytes, limits: ArchiveLimits, tally: Tally): Promise<PackedEntry[]> {
  const options = { autoClose: false, decodeStrings: false, validateEntrySizes: false };
  const zip = await fromRandomAccessReaderPromise(new DirectoryReader(bytes), bytes.size, options);
  countEntries(tally, zip.entryCount, limits);
  const entries: PackedEntry[] = [];
  const seen = new Set<string>();
  const timeOf = createTimes();
  const breathe = createBreathe();
  let unpacked = 0;
  for await (const entry of zip.eachEntry()) {
    await breathe();
    const name = nameOf(entry);
    const path = safePath(name, limits);
    refuseSpecial(entry, path);
    if (path === '' || name.endsWith('/')) continue;
    if (seen.has(path)) throw new ArchiveFault('archive_duplicate_path', `Two entries have the path ${path}.`);
    seen.add(path);
    unpacked += entry.uncompressedSize;
    countEntry(tally, path, entry.uncompressedSize, limits);
    requireRatio(unpacked, bytes.size, limits);
    entries.push(packed(entry, path, bytes, timeOf(entry)));
  }
  await normalizePaths(entries, breathe);
  return entries;
}

/**
 * Normalizes paths, so that links find what macOS has packed, which decomposes accents. Of several paths that differ
 * only by that, one is normalized: the one that is already, else the first.
 */
async function normalizePaths(entries: PackedEntry[], breathe: Breathe): Promise<void> {
  const owners = new Map<string, number>();
  for (const [at, { path }] of entries.entries()) {
    await breathe();
    const normal = path.normalize('NFC');
    if (normal === path || !owners.has(normal)) owners.set(normal, at);
  }
  for (const [path, at] of owners) {
    const entry = entries[at] as PackedEntry;
    if (entry.path !== path) entries[at] = { ...entry, path };
  }
}

/**
 * Decodes a name in the charset that the entry declares, or in UTF-8 if it is valid UTF-8: many tools write UTF-8
 * without declaring it.
 */
function nameOf(entry: ZipEntry): string {
  const raw = entry.fileNameRaw;
  const flags = isAscii(raw) || isUtf8(raw) ? entry.generalPurposeBitFlag | 0x800 : entry.generalPurposeBitFlag;
  return getFileNameLowLevel(flags, raw, entry.extraFields, false);
}

/** Returns the path that the name of an entry means, relative and without empty or `.` segments; empty for the archive's root folder. */
function safePath(name: string, limits: ArchiveLimits): string {
  if (name.length > limits.pathLength) throw limitFault(limits, 'pathLength', `A path has ${name.length} characters.`);
  if (validateFileName(name) !== null || name.includes('\0')) {
    throw new ArchiveFault(
      'archive_unsafe_path',
      `An entry has a path outside of the archive: ${JSON.stringify(name)}.`,
    );
  }
  return name
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .join('/');
}

const FILE_TYPE = 0o170000;
const PLAIN: ReadonlySet<number> = new Set([0, 0o100000, 0o040000]);
const UNIX = 3;
const MAC = 19;

function refuseSpecial(entry: ZipEntry, path: string): void {
  const host = entry.versionMadeBy >>> 8;
  const type = (entry.externalFileAttributes >>> 16) & FILE_TYPE;
  if ((host === UNIX || host === MAC || type === 0o120000) && !PLAIN.has(type)) {
    throw new ArchiveFault('archive_link', `${path} is a link or a device, not a file.`);
  }
  if (entry.isEncrypted()) throw encryptedFault();
  if (entry.compressionMethod === 0 && entry.compressedSize !== entry.uncompressedSize) throw sizeMismatch(path);
}

function encryptedFault(): ArchiveFault {
  return new ArchiveFault('archive_encrypted', 'The archive has a password. Create one without a password.');
}

/** Creates the fault of an entry that unpacks to more or less than its directory declares. */
export function sizeMismatch(path: string): ArchiveFault {
  return new ArchiveFault('archive_size_mismatch', `${path} does not unpack to the size that the archive states.`);
}

/**
 * Returns a function that formats modification times. Consecutive entries with the same time, often a whole archive,
 * share one string.
 */
function createTimes(): (entry: ZipEntry) => string | undefined {
  let last = Number.NaN;
  let text: string | undefined;
  return (entry) => {
    const time = entry.getLastModDate().getTime();
    if (Number.isNaN(time)) return undefined;
    if (time !== last || text === undefined) text = new Date(time).toISOString();
    last = time;
    return text;
  };
}

function packed(entry: ZipEntry, path: string, archive: Bytes, modifiedAt: string | undefined): PackedEntry {
  const { relativeOffsetOfLocalHeader: offset, compressedSize, uncompressedSize, crc32, compressionMethod } = entry;
  return {
    path,
    sizeBytes: uncompressedSize,
    archive,
    offset,
    packedBytes: compressedSize,
    crc: crc32,
    method: compressionMethod,
    nameBytes: entry.fileNameLength,
    modifiedAt,
  };
}
