import type { RankAnswer, RankQuery } from '../port.js';
import { rank } from '../rank/index.js';
import { describeIn } from './describe.js';
import type { IndexFile } from './file.js';
import { nearest } from './nearest.js';
import { search } from './search.js';

/**
 * Ranks what an index file contains. Everything runs in the thread of the file, because the lists that are fused have
 * up to a thousand hits, of which few are shown.
 */
export function rankIn(file: IndexFile, query: RankQuery): Promise<RankAnswer> {
  const source = {
    search: async (question: Parameters<typeof search>[1]) => search(file, question),
    nearest: async (question: Parameters<typeof nearest>[1]) => nearest(file, question),
  };
  return rank(source, query, (index, _query, candidates) => describeIn(file, index, query, candidates));
}
