import { LRUCache } from 'lru-cache';
import type { Part } from '../../content/kind.js';
import type { TextPlace } from '../../domain/text-place.js';
import type { StoredContent } from './records.js';

/** Places whose parts a process caches: people repeat queries and page through results. */
const REMEMBERED = 20_000;
const NOWHERE: Part = {};

type Locate = (record: StoredContent, places: readonly TextPlace[]) => Promise<(Part | undefined)[]>;

/**
 * Creates a cache in front of `locate`, which is called only for places of a document version that are not cached yet.
 */
export function createLocated() {
  const known = new LRUCache<string, Part>({ max: REMEMBERED });
  return async (record: StoredContent, places: readonly TextPlace[], locate: Locate): Promise<(Part | undefined)[]> => {
    const keyOf = ({ offset, text }: TextPlace): string => `${record.id} ${record.version} ${offset} ${text}`;
    const missing = places.filter((place) => !known.has(keyOf(place)));
    const parts = missing.length === 0 ? [] : await locate(record, missing);
    const fresh = new Map(missing.map((place, i) => [keyOf(place), parts[i] ?? NOWHERE]));
    for (const [key, part] of fresh) known.set(key, part);
    return places.map((place) => fresh.get(keyOf(place)) ?? known.get(keyOf(place)));
  };
}
