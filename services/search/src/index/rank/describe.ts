import type { Hit, ModelVector, NearHit, RankedPlace, RankQuery } from '../port.js';
import { type Candidate, cosineScore, type RankSource } from './candidates.js';

/** Returns candidates with their snippets and passages, found by further queries about these entries alone. */
export async function describeByQueries(
  index: RankSource,
  query: RankQuery,
  candidates: readonly Candidate[],
): Promise<RankedPlace[]> {
  const [hits, passages] = await Promise.all([
    hitsOf(index, query, candidates),
    query.vector === undefined ? undefined : passagesOf(index, query, query.vector, candidates),
  ]);
  return candidates.map((candidate) => described(candidate, hits.get(candidate.id), passages?.(candidate)));
}

/** Returns the place of a candidate. `passage` is the nearest one with its text, if known. */
export function described(
  { id, score, keyword, near }: Candidate,
  hit: RankedPlace['hit'],
  passage: NearHit | undefined,
): RankedPlace {
  const semantic = near ?? passage;
  return {
    id,
    score,
    keyword,
    semantic: semantic && cosineScore(semantic),
    hit: hit && { matchedIn: hit.matchedIn, snippets: hit.snippets },
    chunk: passage && bounded(passage.chunk),
    byMeaning: near !== undefined,
  };
}

/**
 * Maximum units of a passage that are read and shown. White space counts as no tokens, so that a passage of few tokens
 * can have megabytes of it.
 */
const MAX_PASSAGE_UNITS = 32_000;

function bounded(chunk: NearHit['chunk']): NearHit['chunk'] {
  const { start, text } = chunk;
  if (text.length <= MAX_PASSAGE_UNITS) return chunk;
  const isSplit = (text.charCodeAt(MAX_PASSAGE_UNITS) & 0xfc00) === 0xdc00;
  const length = MAX_PASSAGE_UNITS - Number(isSplit);
  return { start, end: start + length, text: text.slice(0, length) };
}

async function hitsOf(
  index: RankSource,
  { request, filter }: RankQuery,
  candidates: readonly Candidate[],
): Promise<Map<string, Hit>> {
  const ids = idsOf(candidates.filter(({ keyword }) => keyword !== undefined));
  if (ids.length === 0) return new Map();
  const { plan, narrowing, fields, highlight } = request;
  const { hits } = await index.search({
    plan,
    filter,
    fields,
    highlight,
    narrowing: { ...narrowing, ids },
    offset: 0,
    limit: ids.length,
  });
  return new Map(hits.map((hit) => [hit.id, hit]));
}

const idsOf = (candidates: readonly Candidate[]): string[] => [...new Set(candidates.map(({ id }) => id))];

/** Tolerance for similarities of the same passage in two queries. */
const ROUNDING = 0.002;
const MAX_PASSAGES = 2000;

/** Returns a function that finds the passage of a candidate, with its text. */
async function passagesOf(
  index: RankSource,
  { request, filter }: RankQuery,
  { model, vector }: ModelVector,
  candidates: readonly Candidate[],
): Promise<(candidate: Candidate) => NearHit | undefined> {
  const question = { model, vector, filter };
  const best = async (ids: readonly string[]): Promise<Map<string, NearHit>> => {
    if (ids.length === 0) return new Map();
    const narrowing = { ...request.narrowing, ids };
    const found = await index.nearest({ ...question, narrowing, groupBy: 'resource', limit: ids.length });
    return new Map(found.map((hit) => [hit.id, hit]));
  };
  if (request.groupBy === 'resource') {
    const found = await best(idsOf(candidates));
    return ({ id }) => found.get(id);
  }
  const near = candidates.filter((candidate) => candidate.near !== undefined);
  const minSimilarity = Math.min(...near.map((candidate) => candidate.near?.similarity ?? 1)) - ROUNDING;
  const narrowing = { ...request.narrowing, ids: idsOf(near) };
  const all =
    near.length === 0
      ? []
      : await index.nearest({ ...question, narrowing, groupBy: 'chunk', limit: MAX_PASSAGES, minSimilarity });
  const others = await best(idsOf(candidates.filter((candidate) => candidate.near === undefined)));
  const byPlace = new Map(all.map((hit) => [`${hit.id} ${hit.chunk.start}`, hit]));
  return ({ id, near: one }) => (one === undefined ? others.get(id) : byPlace.get(`${id} ${one.chunk.start}`));
}
