import { LRUCache } from 'lru-cache';
import { LimitReached } from '../errors.js';

/** Keeps a number of things under a limit without counting them each time. */
export interface Room {
  /** Takes `count` places under a key. Throws `limit_reached`. */
  take(key: string, count?: number): Promise<void>;
}

/** Milliseconds after which what other processes have taken is counted in. */
const RECOUNT_MS = 30_000;
/** Keys that are remembered. As sizes of 1: the library makes room for `max` of them at once, which is 2 MB a limit. */
const REMEMBERED = { maxSize: 50_000, sizeCalculation: () => 1 };

/**
 * `count` tells how many there are; it is asked at first, every half minute and before refusing. In
 * between what this process takes is added, so that the limit holds within what others take meanwhile.
 */
export function createRoom(what: string, limit: number, count: (key: string) => Promise<number>): Room {
  const known = new LRUCache<string, { taken: number }>({ ...REMEMBERED, ttl: RECOUNT_MS, ttlResolution: 100 });
  return {
    async take(key, places = 1) {
      let room = known.get(key);
      if (room === undefined || room.taken + places > limit) {
        room = { taken: await count(key) };
        known.set(key, room);
      }
      if (room.taken + places > limit) throw LimitReached({ limit, what });
      room.taken += places;
    },
  };
}
