import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type BlobStore, requireBytes } from '../blobs/port.js';

/**
 * Calls `work` with a path of the bytes: that in the store if it has one, else that of a temporary copy. Rejects with
 * `BlobMissing` when there are no bytes.
 */
export async function withLocalCopy<T>(bytes: BlobStore, key: string, work: (path: string) => Promise<T>): Promise<T> {
  const own = bytes.path(key);
  if (own !== undefined) {
    await requireBytes(bytes, key);
    return work(own);
  }
  const copy = join(tmpdir(), `commonplace-${randomUUID()}`);
  try {
    await pipeline(bytes.read(key), createWriteStream(copy, { flags: 'wx', mode: 0o600 }));
    return await work(copy);
  } finally {
    await rm(copy, { force: true });
  }
}
