import type { CallContext } from '@commonplace/kit/rpc';
import type { AccessibleResource } from '@commonplace/proto/resources/v1/index_service.js';
import type { Hit, NearHit, SearchIndex } from '../index/port.js';
import type { QueryVector } from '../vectors/query-vector.js';
import { type Candidate, cosineScore, rankByMeaning } from './candidates.js';
import type { FilledPage, Found, Question } from './found.js';
import { MOST_REFILLS, OVERFETCH, recheck, type TreeOwner } from './recheck.js';

interface Readable {
  readonly candidate: Candidate;
  readonly resource: AccessibleResource;
}

/**
 * Returns a page by meaning, or by words and meaning. Without a vector only words count. Rejects with `IndexFailure`.
 */
export async function pageByMeaning(
  index: SearchIndex,
  resources: TreeOwner,
  question: Question,
  vector: QueryVector | undefined,
  context: CallContext,
): Promise<FilledPage> {
  const { offset, limit } = question.asked;
  const { list, facets, total, totalIsEstimate, complete } = await rankByMeaning(index, question, vector);
  const readable: Readable[] = [];
  let next = offset;
  for (let refills = 0; readable.length < limit && next < list.length && refills <= MOST_REFILLS; refills++) {
    const missing = limit - readable.length;
    const some = list.slice(next, next + (refills === 0 ? missing : missing * OVERFETCH));
    const allowed = await recheck(resources, some, context);
    for (const candidate of some) {
      if (readable.length === limit) break;
      next++;
      const resource = allowed.get(candidate.id);
      if (resource !== undefined) readable.push({ candidate, resource });
    }
  }
  const left = total - (Math.max(0, next - offset) - readable.length);
  return {
    found: await described(index, question, vector, readable),
    facets,
    total: readable.length === 0 ? left : Math.max(offset + readable.length, left),
    totalIsEstimate,
    complete,
    more: next < list.length,
    next,
  };
}

/** Adds snippets and passages to the places of a page. */
async function described(
  index: SearchIndex,
  question: Question,
  vector: QueryVector | undefined,
  readable: readonly Readable[],
): Promise<Found[]> {
  const [hits, passages] = await Promise.all([
    wordsOf(index, question, readable),
    vector === undefined ? undefined : passagesOf(index, question, vector, readable),
  ]);
  return readable.map(({ candidate, resource }) => {
    const { id, score, near } = candidate;
    const passage = passages?.(candidate);
    return {
      resource,
      score,
      keyword: candidate.keyword,
      semantic: near === undefined && passage === undefined ? undefined : cosineScore(near ?? (passage as NearHit)),
      hit: hits.get(id),
      chunk: passage?.chunk,
      byMeaning: near !== undefined,
    };
  });
}

async function wordsOf(
  index: SearchIndex,
  { asked, filter }: Question,
  readable: readonly Readable[],
): Promise<Map<string, Hit>> {
  const matching = readable.filter(({ candidate }) => candidate.keyword !== undefined);
  const ids = [...new Set(matching.map(({ candidate }) => candidate.id))];
  if (ids.length === 0) return new Map();
  const { plan, narrowing, fields, highlight } = asked;
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

/** Tolerance for similarities of the same passage in two queries. */
const ROUNDING = 0.002;

/** Returns a function that finds the passages of a page's places, with their texts. */
async function passagesOf(
  index: SearchIndex,
  { asked, filter }: Question,
  { model, vector }: QueryVector,
  readable: readonly Readable[],
): Promise<(candidate: Candidate) => NearHit | undefined> {
  const question = { model, vector, filter };
  const best = async (ids: readonly string[]): Promise<Map<string, NearHit>> => {
    if (ids.length === 0) return new Map();
    const narrowing = { ...asked.narrowing, ids };
    const found = await index.nearest({ ...question, narrowing, groupBy: 'resource', limit: ids.length });
    return new Map(found.map((hit) => [hit.id, hit]));
  };
  const candidates = readable.map(({ candidate }) => candidate);
  const idsOf = (some: readonly Candidate[]) => [...new Set(some.map(({ id }) => id))];
  if (asked.groupBy === 'resource') {
    const found = await best(idsOf(candidates));
    return ({ id }) => found.get(id);
  }
  const near = candidates.filter((candidate) => candidate.near !== undefined);
  const least = Math.min(...near.map((candidate) => candidate.near?.similarity ?? 1)) - ROUNDING;
  const narrowing = { ...asked.narrowing, ids: idsOf(near) };
  const all =
    near.length === 0
      ? []
      : await index.nearest({ ...question, narrowing, groupBy: 'chunk', limit: MOST_PASSAGES, minSimilarity: least });
  const others = await best(idsOf(candidates.filter((candidate) => candidate.near === undefined)));
  const byPlace = new Map(all.map((hit) => [`${hit.id} ${hit.chunk.start}`, hit]));
  return ({ id, near: one }) => (one === undefined ? others.get(id) : byPlace.get(`${id} ${one.chunk.start}`));
}

const MOST_PASSAGES = 2000;
