import type { NearHit, RankedPlace, RankQuery } from '../port.js';
import type { Candidate, RankSource } from '../rank/candidates.js';
import { describeByQueries, described } from '../rank/describe.js';
import type { IndexFile } from './file.js';
import { rowsOfIds } from './identities.js';
import { scopeOf } from './scope.js';
import { shownPatterns } from './search.js';
import { hitOf, textOf } from './texts.js';

/**
 * Returns candidates with their snippets and passages, without searching again: the query's words are looked up in
 * these entries alone, and the passages are those of the ranking.
 */
export async function describeIn(
  file: IndexFile,
  index: RankSource,
  query: RankQuery,
  candidates: readonly Candidate[],
): Promise<readonly RankedPlace[]> {
  const { plan, narrowing, fields, highlight, groupBy } = query.request;
  const scope = scopeOf(file, query.filter, narrowing);
  // Passages of one entry may begin at the same place; queries choose between them as on every engine.
  if (scope === undefined || plan.groups.length === 0 || groupBy === 'chunk') {
    return describeByQueries(index, query, candidates);
  }
  const groups = shownPatterns(file, scope, plan, fields);
  const rows = rowsOfIds(file, [...new Set(candidates.map(({ id }) => id))]);
  const others = await passagesOfOthers(index, query, candidates);
  return candidates.map((candidate) => {
    const { id, score, keyword, near } = candidate;
    const row = rows.get(id);
    if (row === undefined) return described(candidate, undefined, undefined);
    const hit = keyword === undefined ? undefined : hitOf(file, { row, score, groups, fields, highlight });
    return described(candidate, hit, near === undefined ? others.get(id) : withText(near, textOf(file, row)));
  });
}

function withText(near: NearHit, text: string): NearHit {
  const { start, end } = near.chunk;
  return { ...near, chunk: { start, end, text: text.slice(start, end) } };
}

/** Returns the nearest passages of candidates that the ranking by meaning does not contain. */
async function passagesOfOthers(
  index: RankSource,
  { request, filter, vector }: RankQuery,
  candidates: readonly Candidate[],
): Promise<ReadonlyMap<string, NearHit>> {
  const ids = candidates.filter(({ near }) => near === undefined).map(({ id }) => id);
  if (vector === undefined || ids.length === 0) return new Map();
  const narrowing = { ...request.narrowing, ids };
  const found = await index.nearest({ ...vector, filter, narrowing, groupBy: 'resource', limit: ids.length });
  return new Map(found.map((hit) => [hit.id, hit]));
}
