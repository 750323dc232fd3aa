import { asAppError } from '@commonplace/kit/errors';
import { type SpaceGuard, withRoom } from '@commonplace/kit/space';
import type { BlobStore } from './port.js';

/**
 * Wraps a store on a local disk: it accepts bytes only while the disk has space, and reports a full disk as
 * `storage_full`.
 */
export function guardBlobs(store: BlobStore, space: SpaceGuard): BlobStore {
  const growing = async <T>(put: () => Promise<T>): Promise<T> => {
    space.requireRoom();
    try {
      return await put();
    } catch (error) {
      const { reason } = asAppError(error);
      if (reason !== 'storage_full') throw error;
      // The next scheduled check may be a second away: measure now, so that other writes are refused at once.
      await space.look();
      throw asAppError(error);
    }
  };
  return {
    ...store,
    put: (key, source, expected) => growing(() => store.put(key, source, expected)),
    putPart: (key, upload, number, source, expected) =>
      growing(() => store.putPart(key, upload, number, source, expected)),
    beginParts: (key) => growing(() => store.beginParts(key)),
    completeParts: (key, upload, expected) => growing(() => store.completeParts(key, upload, expected)),
    move: (from, to, expected) => withRoom(space, () => store.move(from, to, expected)),
  };
}
