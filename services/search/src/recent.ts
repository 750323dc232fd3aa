import type { IndexEntry } from '@commonplace/proto/resources/v1/index_service.js';
import { LRUCache } from 'lru-cache';

/** Characters of a text from which on it is worth the while not to index each of its states. */
export const LONG_TEXT = 8192;
/** A resource is left alone for so many times as long as it took to index it. */
const REST = 16;
/** But never for longer, nor when a change is older, so that what is written is found within two seconds. */
const MOST_REST_MS = 500;

/**
 * What was indexed a moment ago, and at which cost. A long text is indexed as a whole, so that one that changes all
 * the time, as a form's table, is put in again after a rest: the first change at once, those that come meanwhile
 * together.
 */
export interface Recent {
  /**
   * Which of some changed resources are due now, which later, and when that is. `ageMs`: how long ago the first of
   * the changes was. Nothing rests while the index is behind.
   */
  split(
    ids: Iterable<string>,
    ageMs: number,
  ): { readonly now: string[]; readonly later: string[]; readonly waitMs: number };
  /** Notes that entries were indexed together, in so many milliseconds. */
  note(entries: readonly Pick<IndexEntry, 'id' | 'text'>[], tookMs: number): void;
}

export function createRecent(now: () => number = () => performance.now()): Recent {
  const due = new LRUCache<string, number>({ max: 10_000 });
  return {
    split(ids, ageMs) {
      const at = now();
      const patience = Math.min(MOST_REST_MS, MOST_REST_MS - ageMs);
      const parts = { now: [] as string[], later: [] as string[], waitMs: 0 };
      for (const id of ids) {
        const waitMs = Math.min((due.get(id) ?? 0) - at, patience);
        if (waitMs <= 0) parts.now.push(id);
        else {
          parts.later.push(id);
          parts.waitMs = Math.max(parts.waitMs, waitMs);
        }
      }
      return parts;
    },
    note(entries, tookMs) {
      const until = now() + Math.min(REST * tookMs, MOST_REST_MS);
      for (const { id, text } of entries) if (text.length >= LONG_TEXT) due.set(id, until);
    },
  };
}
