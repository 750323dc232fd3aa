import { blobKey, thumbnailKey } from '../domain/layout.js';
import { MediaFailure } from '../media/index.js';
import { withLocalCopy } from '../storage/local-copy.js';
import type { Version } from '../storage/records.js';
import type { DownloadParts } from './parts.js';

export const THUMBNAIL_TYPE = 'image/webp';

const running = new Map<string, Promise<boolean>>();

/** Creates the thumbnail of a version unless it exists. Returns false when none can be made. */
export async function ensureThumbnail(parts: DownloadParts, version: Version, width: number): Promise<boolean> {
  const key = thumbnailKey(version.blobId, width);
  if ((await parts.bytes.size(key)) !== undefined) return true;
  let making = running.get(key);
  if (making === undefined) {
    making = make(parts, version, width, key).finally(() => running.delete(key));
    running.set(key, making);
  }
  return making;
}

async function make(parts: DownloadParts, { tenant, blobId }: Version, width: number, key: string): Promise<boolean> {
  try {
    const { bytes } = await withLocalCopy(parts.bytes, blobKey(blobId), (path) =>
      parts.media.thumbnail(tenant, path, { width }),
    );
    await parts.bytes.put(key, [bytes]);
    return true;
  } catch (error) {
    if (error instanceof MediaFailure && error.reason !== 'closed') return false;
    throw error;
  }
}
