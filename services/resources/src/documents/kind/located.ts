import { LRUCache } from 'lru-cache';
import type { Part } from '../../content/kind.js';
import type { TextPlace } from '../../domain/text-place.js';
import { type BlockMap, blockAt } from '../index.js';
import type { Deriver } from './deriver.js';
import { bare } from './document-body.js';
import type { StoredContent } from './records.js';

/** Estimated bytes of block maps that a process caches: those of about 20,000 pages of 4 KB. */
const MAX_CACHED_BYTES = 32 * 1024 * 1024;
/** Estimated bytes of one block in a map, and of a map beside its blocks. */
const BLOCK_BYTES = 50;
const OVERHEAD_BYTES = 400;

type KnownMap = BlockMap & { readonly markdown?: string };

/**
 * Creates a function that returns the blocks that hold places in one document. A version of a document is parsed once,
 * in a worker thread unless it is short, when a place in it is first asked for; its block map is cached.
 */
export function createLocated(deriver: Deriver) {
  const maps = new LRUCache<string, KnownMap, StoredContent>({
    maxSize: MAX_CACHED_BYTES,
    sizeCalculation: ({ ids, markdown = '' }) => OVERHEAD_BYTES + ids.length * BLOCK_BYTES + markdown.length,
    fetchMethod: async (_key, _stale, { context: record }) =>
      deriver.run(record.tenant, record.text.length, 'blockMap', bare(record)),
  });
  return async (record: StoredContent, places: readonly TextPlace[]): Promise<(Part | undefined)[]> => {
    const map = await maps.forceFetch(`${record.id} ${record.version}`, { context: record });
    return places.map((place) => {
      const blockId = blockAt(map, map.markdown ?? record.text, place);
      return blockId === undefined ? undefined : { blockId };
    });
  };
}
