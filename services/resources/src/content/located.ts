import { LRUCache } from 'lru-cache';
import type { TextPlace } from '../documents/index.js';
import type { StoredContent } from '../stores/contents.js';
import type { Part } from './kind.js';

/** Places whose parts a process remembers: people ask the same, and go from page to page. */
const REMEMBERED = 20_000;
const NOWHERE: Part = {};

type Locate = (record: StoredContent, places: readonly TextPlace[]) => Promise<(Part | undefined)[]>;

/** Asks for the parts of a state of a document that are not known yet. */
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
