import type { FilePlace } from '@commonplace/proto/files/v1/file_text_service.js';
import { LRUCache } from 'lru-cache';
import { pageAt } from '../domain/pages.js';
import type { Parts } from '../parts.js';

/** Places whose pages a process remembers: people ask the same, and texts are long. */
const REMEMBERED = 20_000;

/** Tells the pages of places; of a text that does not change any more each is looked for once. */
export function createLocated({ files, texts }: Pick<Parts, 'files' | 'texts'>) {
  const known = new LRUCache<string, number>({ max: REMEMBERED });
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
