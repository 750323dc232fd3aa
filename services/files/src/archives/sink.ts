import type { BlobStore } from '../blobs/port.js';

const MIB = 1024 * 1024;
/** Bytes of a part. A bucket accepts at most 10,000 parts, so later parts are larger. */
const PART_BYTES = 16 * MIB;
const PARTS_OF_ONE_SIZE = 1000;
/** The smallest part in bytes that this service puts, except for the last one. */
const MIN_PART_BYTES = 8 * MIB;

/** Writes the bytes of an archive into numbered parts of one upload. */
export interface Sink {
  /** Number of parts that are put. */
  readonly parts: number;
  /** Whether enough bytes for a part have accumulated. */
  readonly ripe: boolean;
  write(bytes: Buffer): Promise<void>;
  /** Puts the remaining bytes as a part. */
  flush(): Promise<void>;
}

interface SinkTarget {
  readonly key: string;
  /** Id of the multipart upload, and the number of its parts that are put already. */
  readonly upload: string;
  readonly before: number;
  /** Reserves the bytes of a part before it is put. */
  readonly admit: (bytes: number) => Promise<void>;
}

export function createSink(bytes: BlobStore, { key, upload, before, admit }: SinkTarget): Sink {
  let parts = before;
  let held: Buffer[] = [];
  let size = 0;
  const sink: Sink = {
    get parts() {
      return parts;
    },
    get ripe() {
      return size >= MIN_PART_BYTES;
    },
    async write(chunk) {
      held.push(chunk);
      size += chunk.length;
      if (size >= PART_BYTES * (1 + Math.floor(parts / PARTS_OF_ONE_SIZE))) await sink.flush();
    },
    async flush() {
      if (size === 0) return;
      await admit(size);
      await bytes.putPart(key, upload, parts + 1, held);
      parts++;
      held = [];
      size = 0;
    },
  };
  return sink;
}
