import type { BlobStore } from '../blobs/port.js';

const MIB = 1024 * 1024;
/** Bytes of a part; a bucket takes 10,000 parts at the most, so that later ones are larger. */
const PART_BYTES = 16 * MIB;
const PARTS_OF_ONE_SIZE = 1000;
/** A bucket takes no smaller part, but as the last one. */
const LEAST_BYTES = 8 * MIB;

/** Where the bytes of an archive go: into numbered parts of one upload. */
export interface Sink {
  /** Parts that are put. */
  readonly parts: number;
  /** There is enough for a part. */
  readonly ripe: boolean;
  write(bytes: Buffer): Promise<void>;
  /** Puts what is left. */
  flush(): Promise<void>;
}

export function createSink(bytes: BlobStore, key: string, upload: string, before: number): Sink {
  let parts = before;
  let held: Buffer[] = [];
  let size = 0;
  const sink: Sink = {
    get parts() {
      return parts;
    },
    get ripe() {
      return size >= LEAST_BYTES;
    },
    async write(chunk) {
      held.push(chunk);
      size += chunk.length;
      if (size >= PART_BYTES * (1 + Math.floor(parts / PARTS_OF_ONE_SIZE))) await sink.flush();
    },
    async flush() {
      if (size === 0) return;
      await bytes.putPart(key, upload, parts + 1, held);
      parts++;
      held = [];
      size = 0;
    },
  };
  return sink;
}
