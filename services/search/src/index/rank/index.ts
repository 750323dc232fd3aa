import type { RankAnswer, RankedPlace, RankQuery } from '../port.js';
import { type Candidate, type RankSource, rankByMeaning } from './candidates.js';
import { describeByQueries } from './describe.js';

/** Returns candidates with what is shown of them, in the same order. */
type Describe = (
  index: RankSource,
  query: RankQuery,
  candidates: readonly Candidate[],
) => Promise<readonly RankedPlace[]>;

/** Ranks what an index finds. Rejects with `IndexFailure`. */
export async function rank(
  index: RankSource,
  query: RankQuery,
  describe: Describe = describeByQueries,
): Promise<RankAnswer> {
  const { list, ...answer } = await rankByMeaning(index, query);
  const places = await describe(index, query, list.slice(query.offset, query.offset + query.limit));
  return { ...answer, places, ranked: list.length };
}
