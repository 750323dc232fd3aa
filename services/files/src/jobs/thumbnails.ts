import { blobKey, thumbnailKey } from '../domain/layout.js';
import { MediaFailure } from '../media/index.js';
import type { Parts } from '../parts.js';
import type { Version } from '../stores/records.js';
import { withLocalCopy } from './local-copy.js';

export const THUMBNAIL_TYPE = 'image/webp';

const running = new Map<string, Promise<boolean>>();

/** Makes the small image of a version unless it is there. False where none can be made. */
export async function ensureThumbnail(parts: Parts, version: Version, width: number): Promise<boolean> {
  const key = thumbnailKey(version.blobId, width);
  if ((await parts.bytes.size(key)) !== undefined) return true;
  let making = running.get(key);
  if (making === undefined) {
    making = make(parts, version, width, key).finally(() => running.delete(key));
    running.set(key, making);
  }
  return making;
}

async function make(parts: Parts, { blobId }: Version, width: number, key: string): Promise<boolean> {
  try {
    const { bytes } = await withLocalCopy(parts.bytes, blobKey(blobId), (path) =>
      parts.media.thumbnail(path, { width }),
    );
    await parts.bytes.put(key, [bytes]);
    return true;
  } catch (error) {
    if (error instanceof MediaFailure && error.reason !== 'closed') return false;
    throw error;
  }
}
