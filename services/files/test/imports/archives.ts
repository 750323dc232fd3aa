import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Zippable, zipSync } from 'fflate';
import { fileBytes } from '../../src/imports/bundle/bytes.js';
import type { ArchiveLimits } from '../../src/imports/bundle/limits.js';
import { type OpenBundle, openZipBundle } from '../../src/imports/bundle/zip.js';

const MIB = 1024 * 1024;

export const LIMITS: ArchiveLimits = {
  archiveBytes: 64 * MIB,
  unpackedBytes: 64 * MIB,
  entryBytes: 32 * MIB,
  entries: 1000,
  ratio: 200,
  nesting: 2,
  pathLength: 200,
};

export const folder = mkdtempSync(join(tmpdir(), 'commonplace-archives-'));
let count = 0;

/** Creates an archive of texts, or of bytes with options, by path. */
export function archive(entries: Readonly<Record<string, string | Zippable[string]>>): Buffer {
  const bytes = Object.entries(entries).map(([path, value]) => [
    path,
    typeof value === 'string' ? Buffer.from(value) : value,
  ]);
  return Buffer.from(zipSync(Object.fromEntries(bytes) as Zippable));
}

/** Opens an archive as an import does. */
export async function openArchive(zip: Buffer, limits: Partial<ArchiveLimits> = {}): Promise<OpenBundle> {
  const path = join(folder, `${count++}.zip`);
  writeFileSync(path, zip);
  return openZipBundle(await fileBytes(path), { ...LIMITS, ...limits }, join(folder, 'scratch'));
}

const CENTRAL = Buffer.from('504b0102', 'hex');
const END = Buffer.from('504b0506', 'hex');

/** Returns the archive with one number of its first directory entry changed. */
export function patched(zip: Buffer, offset: number, value: number, bytes: 2 | 4): Buffer {
  const copy = Buffer.from(zip);
  copy.writeUIntLE(value, copy.indexOf(CENTRAL) + offset, bytes);
  return copy;
}

/** Returns the archive with another number of entries in its end record. */
export function saidToHave(zip: Buffer, entries: number): Buffer {
  const copy = Buffer.from(zip);
  const end = copy.lastIndexOf(END);
  copy.writeUInt16LE(Math.min(entries, 0xfffe), end + 8);
  copy.writeUInt16LE(Math.min(entries, 0xfffe), end + 10);
  return copy;
}

/** Offsets in a directory entry: the flags, the unpacked size. */
export const FLAGS = 8;
export const SIZE = 24;
