import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream';
import { promisify } from 'node:util';
import { createDeflateRaw, deflateRaw } from 'node:zlib';
import { crc32, type DirectoryEntry, descriptor, directoryRecord, localHeader } from '../zip.js';

const deflate = promisify(deflateRaw);

/** Holds the position in an archive that is being written and the entries that its directory does not store yet. */
export interface ArchiveWriteState {
  offset: number;
  entries: number;
  /** Directory records since they were last stored. */
  directory: Buffer[];
  /** Lines of `sha256  path` for the same entries. */
  sums: string[];
}

/** Maximum bytes of a text that is stored without compression. */
const MAX_STORED_BYTES = 64;

/** Returns the bytes of an entry whose data is available as a whole, and adds it to `written`. */
export async function wholeEntry(
  path: string,
  data: Buffer,
  modifiedAt: Date,
  written: ArchiveWriteState,
): Promise<Buffer> {
  const deflated = data.length > MAX_STORED_BYTES;
  const packed = deflated ? await deflate(data) : data;
  const sizes = { crc: crc32(data), packedBytes: packed.length, sizeBytes: data.length };
  const begun = { path, deflated, modifiedAt, described: false, ...sizes };
  const bytes = Buffer.concat([localHeader({ ...begun, huge: false }), packed]);
  list(written, { ...begun, offset: written.offset }, createHash('sha256').update(data).digest('hex'), bytes.length);
  return bytes;
}

interface StreamedEntry {
  readonly path: string;
  readonly deflated: boolean;
  /** The entry may exceed 4 GiB. */
  readonly huge: boolean;
  readonly modifiedAt: Date;
}

/** Yields the bytes of an entry whose data arrives in chunks, and adds it to `written`. */
export async function* streamedEntry(
  { path, deflated, huge, modifiedAt }: StreamedEntry,
  source: AsyncIterable<Uint8Array>,
  written: ArchiveWriteState,
): AsyncGenerator<Buffer> {
  const hash = createHash('sha256');
  const { offset } = written;
  let [crc, sizeBytes, packedBytes] = [0, 0, 0];
  async function* watched(): AsyncGenerator<Uint8Array> {
    for await (const chunk of source) {
      hash.update(chunk);
      crc = crc32(chunk, crc);
      sizeBytes += chunk.length;
      yield chunk;
    }
  }
  const begun = { path, deflated, modifiedAt, described: true };
  const header = localHeader({ ...begun, huge });
  yield header;
  for await (const chunk of deflated ? deflating(watched()) : watched()) {
    packedBytes += chunk.length;
    yield Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
  }
  const sizes = { crc, packedBytes, sizeBytes };
  const end = descriptor(sizes, huge);
  yield end;
  list(written, { ...begun, ...sizes, offset }, hash.digest('hex'), header.length + packedBytes + end.length);
}

/** Deflates the chunks of a source. An error on either side, or a reader that stops early, ends both streams. */
function deflating(source: AsyncIterable<Uint8Array>): AsyncIterable<Buffer> {
  // The reader receives the errors; the callback only keeps them from being thrown twice.
  return pipeline(source, createDeflateRaw(), () => undefined);
}

function list(written: ArchiveWriteState, entry: DirectoryEntry, sha256: string, bytes: number): void {
  written.directory.push(directoryRecord(entry));
  written.sums.push(`${sha256}  ${entry.path}\n`);
  written.entries++;
  written.offset += bytes;
}
