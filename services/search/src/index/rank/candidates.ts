import { fuse, type RankedResult, SCALED_BY } from '../../domain/fuse.js';
import { type Group, type QueryPlan, WITHOUT_WORDS } from '../../domain/query.js';
import { withinTier } from '../../domain/score.js';
import {
  EXACT_TOTAL,
  HAS_ALL,
  type Hit,
  type IndexAnswer,
  type ModelVector,
  type NearHit,
  type RankQuery,
  type SearchIndex,
} from '../port.js';

/** What a ranking is made from: the two kinds of queries that an index answers. */
export type RankSource = Pick<SearchIndex, 'search' | 'nearest'>;

/** A place in a ranking by meaning, or by words and meaning. */
export interface Candidate {
  readonly id: string;
  readonly score: number;
  readonly keyword: number | undefined;
  /** Nearest passage, without its text. */
  readonly near: NearHit | undefined;
}

interface Candidates extends Pick<IndexAnswer, 'facets' | 'total' | 'totalIsEstimate' | 'complete'> {
  /** Best first; all results except those by words alone beyond the window. */
  readonly list: readonly Candidate[];
}

/** Entries or passages that are ranked by meaning: alone, or together with words. */
const MAX_RANKED_ALONE = EXACT_TOTAL;
const MAX_RANKED_WITH_WORDS = SCALED_BY;
/** Hits by words that are ranked; the second number applies to pages beyond the first. */
const WINDOWS = [EXACT_TOTAL, 10_000] as const;

/** Ranks by meaning, or by words and meaning. Rejects with `IndexFailure`. */
export async function rankByMeaning(index: RankSource, question: RankQuery): Promise<Candidates> {
  const { request } = question;
  const { words, near, ranking } = await rankings(index, question);
  const list = ranking.filter(({ score }) => score >= (request.minScore ?? 0));
  const outside = await beyondWindow(index, question, words, near);
  const further = request.minScore === undefined && words !== undefined ? words.total - words.hits.length : 0;
  return {
    list,
    facets: merged(
      words?.facets ?? {},
      await facetsOf(index, question, list, [...(words?.hits ?? []).map(({ id }) => id), ...outside]),
    ),
    total: list.length + Math.max(0, further - outside.size),
    totalIsEstimate: words?.totalIsEstimate ?? false,
    complete: words?.complete ?? true,
  };
}

interface Rankings {
  /** Keyword results; undefined when they have no weight. */
  readonly words: IndexAnswer | undefined;
  readonly near: readonly NearHit[];
  readonly ranking: readonly Candidate[];
}

/** Returns keyword and semantic results and their common ranking. */
async function rankings(index: RankSource, question: RankQuery): Promise<Rankings> {
  const { request, vector } = question;
  const { mode, alpha } = request;
  const hybrid = mode === 'hybrid';
  const [words, near] = await Promise.all([
    hybrid && alpha < 1 ? wordHits(index, question) : undefined,
    vector === undefined ? [] : nearHits(index, question, vector, hybrid ? MAX_RANKED_WITH_WORDS : MAX_RANKED_ALONE),
  ]);
  return { words, near, ranking: hybrid ? fused(words?.hits ?? [], near, question) : near.map(alone) };
}

function wordHits(index: RankSource, { request, filter }: RankQuery): Promise<IndexAnswer> {
  const { plan, narrowing, fields, facets, offset } = request;
  const limit = offset + request.limit < WINDOWS[0] ? WINDOWS[0] : WINDOWS[1];
  return index.search({ plan, narrowing, fields, facets, filter, offset: 0, limit, highlight: false, bare: true });
}

/**
 * Returns the nearest entries or passages that contain nothing excluded, and the phrases: those that no near one
 * contains, as in a quotation, are not required.
 */
async function nearHits(
  index: RankSource,
  question: RankQuery,
  { model, vector }: ModelVector,
  limit: number,
): Promise<readonly NearHit[]> {
  const { request, filter } = question;
  const { narrowing, groupBy, plan } = request;
  const found = await index.nearest({ model, vector, filter, narrowing, groupBy, limit, bare: true });
  const near = groupBy === 'chunk' ? apart(found) : found;
  if (near.length === 0 || plan.excluded.length + plan.phrases.length === 0) return near;
  const [unwanted, wanted] = await Promise.all([
    plan.excluded.length === 0 ? new Map<string, number>() : scoresOf(index, question, near, plan.excluded),
    plan.phrases.length === 0 ? undefined : scoresOf(index, question, near, plan.phrases),
  ]);
  const left = near.filter(({ id }) => !unwanted.has(id));
  const having = left.filter(({ id }) => (wanted?.get(id) ?? 0) >= HAS_ALL);
  return having.length > 0 ? having : left;
}

/** Leaves out passages that overlap a nearer one of the same entry. */
function apart(near: readonly NearHit[]): readonly NearHit[] {
  const nearer = new Map<string, NearHit['chunk'][]>();
  return near.filter(({ id, chunk }) => {
    const kept = nearer.get(id) ?? [];
    if (kept.some(({ start, end }) => chunk.start < end && start < chunk.end)) return false;
    nearer.set(id, [...kept, chunk]);
    return true;
  });
}

/** Returns the scores of those entries that match any of the groups. */
async function scoresOf(
  index: RankSource,
  { request, filter }: RankQuery,
  entries: readonly { readonly id: string }[],
  groups: readonly Group[],
): Promise<Map<string, number>> {
  const ids = [...new Set(entries.map(({ id }) => id))];
  const plan: QueryPlan = { ...WITHOUT_WORDS, groups };
  const { hits } = await index.search({
    plan,
    filter,
    fields: request.fields,
    narrowing: { ...request.narrowing, ids },
    offset: 0,
    limit: ids.length,
    highlight: false,
    bare: true,
  });
  return new Map(hits.map(({ id, score }) => [id, score]));
}

function alone(near: NearHit): Candidate {
  return { id: near.id, score: cosineScore(near), keyword: undefined, near };
}

/** Converts a cosine similarity to a score from 0 to 1. */
export function cosineScore({ similarity }: Pick<NearHit, 'similarity'>): number {
  return Math.min(1, Math.max(0, similarity));
}

/** Fuses both rankings. If an entry has several passages, its words count for the nearest one. */
function fused(hits: readonly Hit[], near: readonly NearHit[], { request }: RankQuery): Candidate[] {
  const byKey = new Map<string, NearHit>();
  const keyOf = new Map<string, string>();
  const byMeaning = near.map((one): RankedResult => {
    const key = request.groupBy === 'chunk' ? `${one.id} ${one.chunk.start}` : one.id;
    byKey.set(key, one);
    if (!keyOf.has(one.id)) keyOf.set(one.id, key);
    return { id: key, score: cosineScore(one) };
  });
  const scores = new Map(hits.map(({ id, score }) => [id, score]));
  // What an entry with all words has before one with some is for a ranking by words alone.
  const byWords = hits.map(({ id, score }): RankedResult => ({ id: keyOf.get(id) ?? id, score: withinTier(score) }));
  byWords.sort((a, b) => b.score - a.score);
  return fuse(byWords, byMeaning, request.alpha).map(({ id: key, score }) => {
    const one = byKey.get(key);
    const id = one?.id ?? key;
    return { id, score, keyword: scores.get(id), near: one };
  });
}

/** Returns semantic results that keyword search finds beyond the window, so that they are counted once. */
async function beyondWindow(
  index: RankSource,
  question: RankQuery,
  words: IndexAnswer | undefined,
  near: readonly NearHit[],
): Promise<ReadonlySet<string>> {
  if (words === undefined || words.total <= words.hits.length) return new Set();
  const within = new Set(words.hits.map(({ id }) => id));
  const others = near.filter(({ id }) => !within.has(id));
  if (others.length === 0) return new Set();
  return new Set((await scoresOf(index, question, others, question.request.plan.groups)).keys());
}

/** Returns the facets of those candidates whose ids are not among the counted ones. */
async function facetsOf(
  index: RankSource,
  { request, filter }: RankQuery,
  list: readonly Candidate[],
  counted: readonly string[],
): Promise<IndexAnswer['facets']> {
  if (request.facets.length === 0) return {};
  const known = new Set(counted);
  const ids = [...new Set(list.map(({ id }) => id))].filter((id) => !known.has(id));
  if (ids.length === 0) return {};
  const narrowing = { ...request.narrowing, ids };
  const { facets } = request;
  const question = {
    plan: WITHOUT_WORDS,
    filter,
    narrowing,
    facets,
    offset: 0,
    limit: 1,
    highlight: false,
    bare: true,
  };
  return (await index.search(question)).facets;
}

function merged(a: IndexAnswer['facets'], b: IndexAnswer['facets']): IndexAnswer['facets'] {
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])] as (keyof IndexAnswer['facets'])[];
  return Object.fromEntries(
    names.map((name) => {
      const counts = new Map(a[name]);
      for (const [value, count] of b[name] ?? []) counts.set(value, (counts.get(value) ?? 0) + count);
      return [name, [...counts].sort(([v, m], [w, n]) => n - m || (v < w ? -1 : 1))];
    }),
  );
}
