import { createHash } from 'node:crypto';
import { createBreathe } from '@commonplace/kit/slices';
import type { Source, StoredBytes } from './port.js';

interface MeasuredBytes {
  /** The same bytes, measured as they pass. */
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Returns the size and checksum of what has passed so far. */
  stored(): StoredBytes;
}

/** Bytes that are hashed before the event loop gets a turn. */
const HASHED_BYTES = 256 * 1024;

/** Measures the size and SHA-256 of bytes while they are read. */
export function measure(source: Source): MeasuredBytes {
  const hash = createHash('sha256');
  const breathe = createBreathe();
  let sizeBytes = 0;
  async function* pass(): AsyncIterable<Uint8Array> {
    for await (const chunk of source) {
      for (let from = 0; from < chunk.length; from += HASHED_BYTES) {
        hash.update(chunk.subarray(from, from + HASHED_BYTES));
        await breathe();
      }
      sizeBytes += chunk.length;
      yield chunk;
    }
  }
  return { bytes: pass(), stored: () => ({ sizeBytes, sha256: hash.copy().digest('hex') }) };
}

/** Reads all bytes and returns their size and SHA-256. */
export async function measureAll(source: Source): Promise<StoredBytes> {
  const { bytes, stored } = measure(source);
  for await (const _ of bytes);
  return stored();
}
