import { maxEntries } from '@commonplace/kit/cache';
import type { FilePlace } from '@commonplace/proto/files/v1/file_text_service.js';
import { LRUCache } from 'lru-cache';
import { pageAt } from '../domain/pages.js';
import type { TextParts } from './parts.js';

/** Places whose pages a process caches: the same ones are requested often, and texts are long. */
const REMEMBERED = 20_000;

/**
 * Returns a function that finds the pages of places. The text of a version never changes, so each place is looked up
 * once.
 */
export function createLocated({ files, texts }: Pick<TextParts, 'files' | 'texts'>) {
  const known = new LRUCache<string, number>(maxEntries(REMEMBERED));
  return async (places: readonly FilePlace[]): Promise<number[]> => {
    const found = await files.getMany([...new Set(places.map(({ resourceId }) => resourceId))]);
    const versionOf = new Map(found.map(({ id, versionId }) => [id, versionId]));
    const keyOf = ({ resourceId, offset, text }: FilePlace): string => `${versionOf.get(resourceId)} ${offset} ${text}`;
    const fresh = new Map<string, number>();
    const missing = new Map<string, FilePlace[]>();
    for (const place of places) {
      const versionId = versionOf.get(place.resourceId);
      const page = known.get(keyOf(place));
      if (page !== undefined) fresh.set(keyOf(place), page);
      else if (versionId !== undefined) missing.set(versionId, [...(missing.get(versionId) ?? []), place]);
    }
    for (const paged of missing.size === 0 ? [] : await texts.getMany([...missing.keys()])) {
      for (const place of missing.get(paged.id) ?? []) {
        const page = pageAt(paged, place);
        fresh.set(keyOf(place), page);
        known.set(keyOf(place), page);
      }
    }
    return places.map((place) => fresh.get(keyOf(place)) ?? 0);
  };
}
