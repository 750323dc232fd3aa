import { maxEntries } from '@commonplace/kit/cache';
import { LRUCache } from 'lru-cache';
import { blobKey, thumbnailKey } from '../domain/layout.js';
import { MediaFailure } from '../media/index.js';
import { withLocalCopy } from '../storage/local-copy.js';
import type { Version } from '../storage/records.js';
import type { DownloadParts } from './parts.js';

export const THUMBNAIL_TYPE = 'image/webp';

/**
 * Milliseconds for which this process makes no thumbnail of bytes that gave none. It is limited because a time limit is
 * also exceeded on a busy machine, and a later release may read what this one cannot.
 */
const FAILURE_MS = 3_600_000;
/** Maximum number of failures that are remembered. */
const MAX_FAILURES = 10_000;

/** Makes the thumbnails of images when they are first requested. */
export interface Thumbnails {
  /** Creates the thumbnail of a version unless it exists. Returns false when none can be made. */
  ensure(version: Version, width: number): Promise<boolean>;
}

export function createThumbnails({ bytes, media }: Pick<DownloadParts, 'bytes' | 'media'>): Thumbnails {
  /**
   * Thumbnails in progress, by blob. Requests for other widths wait, because bytes that cannot be read for one width
   * cannot be read for any.
   */
  const running = new Map<string, Promise<boolean>>();
  /** Blobs that gave no thumbnail. Their bytes never change, and whether they can be read depends on no width. */
  const failed = new LRUCache<string, true>({ ...maxEntries(MAX_FAILURES), ttl: FAILURE_MS });

  async function make({ tenant, blobId }: Version, width: number, key: string): Promise<boolean> {
    try {
      const made = await withLocalCopy(bytes, blobKey(blobId), (path) => media.thumbnail(tenant, path, { width }));
      await bytes.put(key, [made.bytes]);
      return true;
    } catch (error) {
      if (!(error instanceof MediaFailure) || error.reason === 'closed') throw error;
      failed.set(blobId, true);
      return false;
    }
  }

  return {
    async ensure(version, width) {
      const { blobId } = version;
      const key = thumbnailKey(blobId, width);
      for (;;) {
        if ((await bytes.size(key)) !== undefined) return true;
        if (failed.has(blobId)) return false;
        const other = running.get(blobId);
        if (other === undefined) break;
        await other;
      }
      const making = make(version, width, key).finally(() => running.delete(blobId));
      running.set(blobId, making);
      return making;
    },
  };
}
