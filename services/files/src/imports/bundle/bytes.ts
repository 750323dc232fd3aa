import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { RandomAccessReader } from 'yauzl';
import { type BlobStore, requireBytes } from '../../blobs/port.js';

/** Reads bytes at any offset, wherever they are stored. */
export interface Bytes {
  readonly size: number;
  /** Reads `length` bytes from an offset; fewer at the end. */
  read(offset: number, length: number): Promise<Buffer>;
  /** Streams the bytes from `start` to before `end`. */
  stream(start: number, end: number): Readable;
  close(): Promise<void>;
}

/** Opens a file. */
export async function fileBytes(path: string): Promise<Bytes> {
  const { size } = await stat(path);
  const file = await open(path);
  return {
    size,
    async read(offset, length) {
      const buffer = Buffer.allocUnsafe(Math.max(0, Math.min(length, size - offset)));
      const { bytesRead } = await file.read(buffer, 0, buffer.length, offset);
      return buffer.subarray(0, bytesRead);
    },
    stream: (start, end) => (end > start ? createReadStream(path, { start, end: end - 1 }) : Readable.from([])),
    close: () => file.close(),
  };
}

/** Opens a blob: as a file if the store has a path for it, else by ranged reads. Throws `BlobMissing`. */
export async function blobBytes(store: BlobStore, key: string): Promise<Bytes> {
  const size = await requireBytes(store, key);
  const path = store.path(key);
  if (path !== undefined) return fileBytes(path);
  return {
    size,
    read: (offset, length) => buffer(store.read(key, { offset, length })),
    stream: (start, end) =>
      end > start ? Readable.from(store.read(key, { offset: start, length: end - start })) : Readable.from([]),
    close: async () => {},
  };
}

/** Minimum bytes that one read fetches, because a directory is read in many small consecutive pieces. */
const MIN_READ_BYTES = 256 * 1024;

type Done = (error: Error | null, bytesRead?: number) => void;

/** Lets yauzl read the directory of an archive, with read-ahead. */
export class DirectoryReader extends RandomAccessReader {
  #ahead: Buffer = Buffer.alloc(0);
  #from = 0;

  constructor(private readonly bytes: Bytes) {
    super();
  }

  override read(buffer: Buffer, offset: number, length: number, position: number, callback: Done): void {
    this.#piece(position, length).then(
      (piece) => {
        piece.copy(buffer, offset);
        callback(null, piece.length);
      },
      (error: Error) => callback(error),
    );
  }

  async #piece(position: number, length: number): Promise<Buffer> {
    const held = position >= this.#from && position + length <= this.#from + this.#ahead.length;
    if (!held) {
      this.#ahead = await this.bytes.read(position, Math.max(length, MIN_READ_BYTES));
      this.#from = position;
    }
    const start = position - this.#from;
    return this.#ahead.subarray(start, start + length);
  }
}
