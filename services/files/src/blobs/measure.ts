import { createHash } from 'node:crypto';
import type { Source, Stored } from './port.js';

export interface Measured {
  /** The same bytes, measured as they pass. */
  readonly bytes: AsyncIterable<Uint8Array>;
  /** What has passed so far. */
  stored(): Stored;
}

/** Measures bytes on their way. */
export function measure(source: Source): Measured {
  const hash = createHash('sha256');
  let sizeBytes = 0;
  async function* pass(): AsyncIterable<Uint8Array> {
    for await (const chunk of source) {
      hash.update(chunk);
      sizeBytes += chunk.length;
      yield chunk;
    }
  }
  return { bytes: pass(), stored: () => ({ sizeBytes, sha256: hash.copy().digest('hex') }) };
}

/** Reads bytes to their end and measures them. */
export async function measureAll(source: Source): Promise<Stored> {
  const { bytes, stored } = measure(source);
  for await (const _ of bytes);
  return stored();
}
