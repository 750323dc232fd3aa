import { PassThrough, pipeline, type Readable, Transform } from 'node:stream';
import { promisify } from 'node:util';
import { crc32, createInflateRaw, inflateRaw } from 'node:zlib';
import { ImportFault } from '../sources/port.js';
import { type PackedEntry, sizeMismatch } from './directory.js';

const HEADER_BYTES = 30;
const SIGNATURE = 0x04034b50;
/** Bytes of extra fields to expect in an entry's local header; a second read fetches more if there are more. */
const EXTRA_BYTES = 128;
/** Entries of at most this many bytes, packed and unpacked, are read in one piece. */
const SMALL_BYTES = 1024 * 1024;

const inflate = promisify<Buffer, { maxOutputLength: number }, Buffer>(inflateRaw);

/** Returns all bytes of an entry. Throws when their size or checksum is not what the archive declares. */
export async function readEntry(entry: PackedEntry): Promise<Buffer> {
  if (!isSmall(entry)) return gather(await openEntry(entry), entry);
  const guess = HEADER_BYTES + entry.nameBytes + EXTRA_BYTES + entry.packedBytes;
  const { archive, offset } = entry;
  const piece = await archive.read(offset, guess);
  const start = dataStart(piece, entry);
  const missing = start + entry.packedBytes - piece.length;
  const more = missing > 0 ? await archive.read(offset + piece.length, missing) : undefined;
  const data = (more === undefined ? piece : Buffer.concat([piece, more])).subarray(start, start + entry.packedBytes);
  if (data.length < entry.packedBytes) throw damagedFault(entry.path);
  const unpacked = await unpack(data, entry);
  if (unpacked.length !== entry.sizeBytes) throw sizeMismatch(entry.path);
  if (crc32(unpacked) !== entry.crc) throw damagedFault(entry.path);
  return unpacked;
}

/** Returns whether an entry is small enough to be unpacked in memory. */
export function isSmall({ packedBytes, sizeBytes }: PackedEntry): boolean {
  return packedBytes <= SMALL_BYTES && sizeBytes <= SMALL_BYTES;
}

async function gather(stream: Readable, { path }: PackedEntry): Promise<Buffer> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of stream) chunks.push(chunk as Buffer);
  } catch (error) {
    throw entryFault(error, path);
  }
  return Buffer.concat(chunks);
}

async function unpack(data: Buffer, entry: PackedEntry): Promise<Buffer> {
  requireMethod(entry);
  if (entry.method === 0) return data;
  try {
    return await inflate(data, { maxOutputLength: entry.sizeBytes + 1 });
  } catch (error) {
    throw (error as { code?: string }).code === 'ERR_BUFFER_TOO_LARGE'
      ? sizeMismatch(entry.path)
      : damagedFault(entry.path);
  }
}

/** Streams the bytes of an entry. The stream fails when their size or checksum is not what the archive declares. */
export async function openEntry(entry: PackedEntry): Promise<Readable> {
  requireMethod(entry);
  const { archive, offset } = entry;
  const header = await archive.read(offset, HEADER_BYTES);
  const start = offset + dataStart(header, entry);
  const raw = archive.stream(start, start + entry.packedBytes);
  const unpacked = entry.method === 0 ? new PassThrough() : createInflateRaw();
  const checked = checkAll(entry);
  pipeline(raw, unpacked, checked, () => {});
  return checked;
}

/**
 * Passes bytes on; fails as soon as there are more than the archive declares, or at the end if size or checksum differ.
 */
function checkAll(entry: PackedEntry): Transform {
  let count = 0;
  let sum = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      count += chunk.length;
      sum = crc32(chunk, sum);
      if (count > entry.sizeBytes) done(sizeMismatch(entry.path));
      else done(null, chunk);
    },
    flush(done) {
      if (count !== entry.sizeBytes) done(sizeMismatch(entry.path));
      else if (sum !== entry.crc) done(damagedFault(entry.path));
      else done();
    },
  });
}

/** Returns the offset of the data after an entry's local header. */
function dataStart(header: Buffer, { path }: PackedEntry): number {
  if (header.length < HEADER_BYTES || header.readUInt32LE(0) !== SIGNATURE) throw damagedFault(path);
  return HEADER_BYTES + header.readUInt16LE(26) + header.readUInt16LE(28);
}

function requireMethod({ method, path }: PackedEntry): void {
  if (method === 0 || method === 8) return;
  throw new ImportFault('archive_entry_unsupported', `${path} is compressed by an unsupported method (${method}).`);
}

function damagedFault(path: string): ImportFault {
  return new ImportFault('archive_entry_damaged', `${path} is damaged in the archive.`);
}

/** Converts an error of a stream of `openEntry` to the fault of a damaged entry if zlib reports it. */
export function entryFault(error: unknown, path: string): unknown {
  const isZlib = ((error as { code?: string }).code ?? '').startsWith('Z_');
  return isZlib ? damagedFault(path) : error;
}
