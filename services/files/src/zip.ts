import { crc32 } from 'node:zlib';

/*
 * The records of a ZIP archive (PKWARE's APPNOTE.TXT, sections 4.3 to 4.5), each on its own: an archive is continued
 * where an earlier process stopped, which no library for whole archives supports.
 */

/** Describes an entry as the directory at the archive's end lists it. */
export interface DirectoryEntry {
  readonly path: string;
  readonly deflated: boolean;
  readonly crc: number;
  readonly packedBytes: number;
  readonly sizeBytes: number;
  /** Offset of its local header in the archive. */
  readonly offset: number;
  /** Whether its size follows its data in a descriptor, because it was unknown before. */
  readonly described: boolean;
  readonly modifiedAt: Date;
}

/** Describes what is known of an entry when its header is written. */
type EntryHeader = Pick<DirectoryEntry, 'path' | 'deflated' | 'modifiedAt' | 'described'> &
  Partial<Pick<DirectoryEntry, 'crc' | 'packedBytes' | 'sizeBytes'>> & {
    /** The entry may exceed 4 GiB. */
    readonly huge: boolean;
  };

/** Marker for a value that does not fit into 32 bits: the greatest 32-bit number. */
const MAX_UINT32 = 0xffffffff;
const VERSION = 20;
const VERSION_64 = 45;
const UTF8 = 0x800;
const DESCRIBED = 0x8;
const ZIP64 = 0x0001;

/** Encodes the local header, which precedes an entry's data. */
export function localHeader({ path, deflated, modifiedAt, described, huge, ...sizes }: EntryHeader): Buffer {
  const name = Buffer.from(path);
  const { crc = 0, packedBytes = 0, sizeBytes = 0 } = sizes;
  const extra = huge ? extraField([sizeBytes, packedBytes]) : Buffer.alloc(0);
  const fixed = Buffer.alloc(30);
  fixed.writeUInt32LE(0x04034b50, 0);
  fixed.writeUInt16LE(huge ? VERSION_64 : VERSION, 4);
  fixed.writeUInt16LE(UTF8 | (described ? DESCRIBED : 0), 6);
  fixed.writeUInt16LE(deflated ? 8 : 0, 8);
  fixed.writeUInt32LE(dosTime(modifiedAt), 10);
  fixed.writeUInt32LE(crc, 14);
  fixed.writeUInt32LE(huge ? MAX_UINT32 : packedBytes, 18);
  fixed.writeUInt32LE(huge ? MAX_UINT32 : sizeBytes, 22);
  fixed.writeUInt16LE(name.length, 26);
  fixed.writeUInt16LE(extra.length, 28);
  return Buffer.concat([fixed, name, extra]);
}

/** Encodes the data descriptor, which follows an entry whose size was unknown before. */
export function descriptor(
  { crc, packedBytes, sizeBytes }: Pick<DirectoryEntry, 'crc' | 'packedBytes' | 'sizeBytes'>,
  huge: boolean,
): Buffer {
  const record = Buffer.alloc(huge ? 24 : 16);
  record.writeUInt32LE(0x08074b50, 0);
  record.writeUInt32LE(crc, 4);
  if (huge) {
    record.writeBigUInt64LE(BigInt(packedBytes), 8);
    record.writeBigUInt64LE(BigInt(sizeBytes), 16);
  } else {
    record.writeUInt32LE(packedBytes, 8);
    record.writeUInt32LE(sizeBytes, 12);
  }
  return record;
}

/** Encodes an entry of the directory. */
export function directoryRecord(entry: DirectoryEntry): Buffer {
  const { path, deflated, crc, packedBytes, sizeBytes, offset, described, modifiedAt } = entry;
  const name = Buffer.from(path);
  const large = [sizeBytes, packedBytes, offset].filter((value) => value >= MAX_UINT32);
  const extra = large.length === 0 ? Buffer.alloc(0) : extraField(large);
  const version = large.length === 0 ? VERSION : VERSION_64;
  const fixed = Buffer.alloc(46);
  fixed.writeUInt32LE(0x02014b50, 0);
  // Made on Unix: the upper byte determines how the attributes are read.
  fixed.writeUInt16LE((3 << 8) | version, 4);
  fixed.writeUInt16LE(version, 6);
  fixed.writeUInt16LE(UTF8 | (described ? DESCRIBED : 0), 8);
  fixed.writeUInt16LE(deflated ? 8 : 0, 10);
  fixed.writeUInt32LE(dosTime(modifiedAt), 12);
  fixed.writeUInt32LE(crc, 16);
  fixed.writeUInt32LE(Math.min(packedBytes, MAX_UINT32), 20);
  fixed.writeUInt32LE(Math.min(sizeBytes, MAX_UINT32), 24);
  fixed.writeUInt16LE(name.length, 28);
  fixed.writeUInt16LE(extra.length, 30);
  // A regular file that its owner may write and all users may read.
  fixed.writeUInt32LE(((0o100644 << 16) >>> 0) as number, 38);
  fixed.writeUInt32LE(Math.min(offset, MAX_UINT32), 42);
  return Buffer.concat([fixed, name, extra]);
}

/** Encodes the end of an archive: where its directory begins, and how many entries it lists. */
export function archiveEnd(entries: number, offset: number, sizeBytes: number): Buffer {
  const records: Buffer[] = [];
  if (entries >= 0xffff || offset >= MAX_UINT32 || sizeBytes >= MAX_UINT32) {
    const end = Buffer.alloc(56);
    end.writeUInt32LE(0x06064b50, 0);
    end.writeBigUInt64LE(44n, 4);
    end.writeUInt16LE((3 << 8) | VERSION_64, 12);
    end.writeUInt16LE(VERSION_64, 14);
    end.writeBigUInt64LE(BigInt(entries), 24);
    end.writeBigUInt64LE(BigInt(entries), 32);
    end.writeBigUInt64LE(BigInt(sizeBytes), 40);
    end.writeBigUInt64LE(BigInt(offset), 48);
    const locator = Buffer.alloc(20);
    locator.writeUInt32LE(0x07064b50, 0);
    locator.writeBigUInt64LE(BigInt(offset + sizeBytes), 8);
    locator.writeUInt32LE(1, 16);
    records.push(end, locator);
  }
  const last = Buffer.alloc(22);
  last.writeUInt32LE(0x06054b50, 0);
  last.writeUInt16LE(Math.min(entries, 0xffff), 8);
  last.writeUInt16LE(Math.min(entries, 0xffff), 10);
  last.writeUInt32LE(Math.min(sizeBytes, MAX_UINT32), 12);
  last.writeUInt32LE(Math.min(offset, MAX_UINT32), 16);
  return Buffer.concat([...records, last]);
}

function extraField(values: readonly number[]): Buffer {
  const field = Buffer.alloc(4 + values.length * 8);
  field.writeUInt16LE(ZIP64, 0);
  field.writeUInt16LE(values.length * 8, 2);
  for (const [i, value] of values.entries()) field.writeBigUInt64LE(BigInt(value), 4 + i * 8);
  return field;
}

/** Encodes a UTC time in DOS format: resolution of two seconds, from 1980 on. */
function dosTime(at: Date): number {
  const year = Math.max(at.getUTCFullYear() - 1980, 0);
  const date = (year << 9) | ((at.getUTCMonth() + 1) << 5) | at.getUTCDate();
  const time = (at.getUTCHours() << 11) | (at.getUTCMinutes() << 5) | (at.getUTCSeconds() >> 1);
  return ((date << 16) | time) >>> 0;
}

export { crc32 };
