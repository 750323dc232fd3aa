import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { createDeflateRaw, deflateRaw } from 'node:zlib';
import { crc32, descriptor, directoryRecord, type Listed, localHeader } from './zip.js';

const deflate = promisify(deflateRaw);

/** Where the writing of an archive is: its bytes so far, and what is yet to be listed. */
export interface Written {
  offset: number;
  entries: number;
  /** Records of the directory, since the last time that they were put away. */
  directory: Buffer[];
  /** `sha256  path` of the same entries. */
  sums: string[];
}

/** Below this a text is not worth deflating. */
const WORTH_BYTES = 64;

/** The bytes of an entry that is there as a whole. */
export async function wholeEntry(path: string, data: Buffer, modifiedAt: Date, written: Written): Promise<Buffer> {
  const deflated = data.length > WORTH_BYTES;
  const packed = deflated ? await deflate(data) : data;
  const sizes = { crc: crc32(data), packedBytes: packed.length, sizeBytes: data.length };
  const begun = { path, deflated, modifiedAt, described: false, ...sizes };
  const bytes = Buffer.concat([localHeader({ ...begun, huge: false }), packed]);
  list(written, { ...begun, offset: written.offset }, createHash('sha256').update(data).digest('hex'), bytes.length);
  return bytes;
}

export interface Streamed {
  readonly path: string;
  readonly deflated: boolean;
  /** It may have more than 4 GiB. */
  readonly huge: boolean;
  readonly modifiedAt: Date;
}

/** The bytes of an entry whose data comes in pieces. */
export async function* streamedEntry(
  { path, deflated, huge, modifiedAt }: Streamed,
  source: AsyncIterable<Uint8Array>,
  written: Written,
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

async function* deflating(source: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  const stream = createDeflateRaw();
  const fed = feed(source, stream).catch((error) => void stream.destroy(error));
  for await (const chunk of stream) yield chunk as Buffer;
  await fed;
}

async function feed(source: AsyncIterable<Uint8Array>, stream: ReturnType<typeof createDeflateRaw>): Promise<void> {
  for await (const chunk of source) {
    if (!stream.write(chunk)) await new Promise((resolve) => stream.once('drain', resolve));
  }
  stream.end();
}

function list(written: Written, entry: Listed, sha256: string, bytes: number): void {
  written.directory.push(directoryRecord(entry));
  written.sums.push(`${sha256}  ${entry.path}\n`);
  written.entries++;
  written.offset += bytes;
}
