import { maxEntries } from '@commonplace/kit/cache';
import type { IndexEntry } from '@commonplace/proto/resources/v1/index_service.js';
import { LRUCache } from 'lru-cache';

/** Characters of a text from which on its updates are debounced. */
export const LONG_TEXT_CHARS = 8192;
/** Factor of the time that indexing took, for which a resource is then left alone. */
const REST_FACTOR = 16;
/** Maximum of that time and of the age of a change in milliseconds, so that changes are found within two seconds. */
const MAX_REST_MS = 500;

/**
 * Remembers what was indexed recently and how long it took. A long text is always indexed as a whole, so one that
 * changes continuously, like the table of a form, is debounced: its first change is indexed at once, and further ones
 * together after a pause.
 */
export interface Recent {
  /**
   * Splits changed resources into those to index now and later. `ageMs` is the age of the oldest change. Nothing is
   * delayed while the index lags behind.
   */
  split(
    ids: Iterable<string>,
    ageMs: number,
  ): { readonly now: string[]; readonly later: string[]; readonly waitMs: number };
  /** Records that entries were indexed together in `tookMs`. */
  note(entries: readonly Pick<IndexEntry, 'id' | 'text'>[], tookMs: number): void;
}

export function createRecent(now: () => number = () => performance.now()): Recent {
  const due = new LRUCache<string, number>(maxEntries(10_000));
  return {
    split(ids, ageMs) {
      const at = now();
      const patience = Math.min(MAX_REST_MS, MAX_REST_MS - ageMs);
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
      const until = now() + Math.min(REST_FACTOR * tookMs, MAX_REST_MS);
      for (const { id, text } of entries) if (text.length >= LONG_TEXT_CHARS) due.set(id, until);
    },
  };
}
