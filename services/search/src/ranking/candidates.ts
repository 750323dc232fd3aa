import { type Answering, answering } from '../domain/feedback.js';
import { fuse, type Ranked } from '../domain/fuse.js';
import { type Group, type QueryPlan, WITHOUT_WORDS } from '../domain/query.js';
import type { QueryVector } from '../embedding/query-vector.js';
import { EXACT_TOTAL, HAS_ALL, type Hit, type IndexAnswer, type NearHit, type SearchIndex } from '../index/port.js';
import type { Question } from './found.js';

/** A place in a ranking that knows of meaning. */
export interface Candidate {
  readonly id: string;
  readonly score: number;
  readonly keyword: number | undefined;
  /** Without its text. */
  readonly near: NearHit | undefined;
}

export interface Candidates extends Pick<IndexAnswer, 'facets' | 'total' | 'totalIsEstimate' | 'complete'> {
  /** Best first; all there are, but for hits by words alone beyond the window. */
  readonly list: readonly Candidate[];
  /** What the vector was mixed with. */
  readonly towards: readonly Answering[];
}

/** Entries or passages that are ranked by meaning alone, and beside those that have the words or to ask again. */
const REACH_ALONE = EXACT_TOTAL;
const REACH_BESIDE = 200;
/** Hits by words that are ranked: those of the second window where a page lies beyond the first. */
const WINDOWS = [EXACT_TOTAL, 10_000] as const;

/** How much more meaning counts where it was asked again with the best of both. */
const TRUST_AGAIN = 1.5;

/**
 * Ranks by meaning, or by words and meaning. Where something is found, it is asked again: what is like the best
 * answers is nearer than a few words tell. Rejects with IndexFailure.
 */
export async function rankByMeaning(
  index: SearchIndex,
  question: Question,
  vector: QueryVector | undefined,
): Promise<Candidates> {
  const { asked } = question;
  const { words, near, towards, ranking } = await rankings(index, question, vector);
  const list = ranking.filter(({ score }) => score >= (asked.minScore ?? 0));
  const outside = await beyondWindow(index, question, words, near);
  const known = new Set([...(words?.hits ?? []).map(({ id }) => id), ...outside]);
  const others = list.filter(({ id }) => !known.has(id));
  const otherIds = [...new Set(others.map(({ id }) => id))];
  const further = asked.minScore === undefined && words !== undefined ? words.total - words.hits.length : 0;
  return {
    list,
    towards,
    facets: merged(words?.facets ?? {}, await facetsOf(index, question, otherIds)),
    total: list.length + Math.max(0, further - outside.size),
    totalIsEstimate: words?.totalIsEstimate ?? false,
    complete: words?.complete ?? true,
  };
}

interface Rankings extends Pick<Candidates, 'towards'> {
  /** By words; undefined where they have no share. */
  readonly words: IndexAnswer | undefined;
  readonly near: readonly NearHit[];
  readonly ranking: readonly Candidate[];
}

/** What the words find and what is near, and both as one; near is asked again with the best of that. */
async function rankings(index: SearchIndex, question: Question, vector: QueryVector | undefined): Promise<Rankings> {
  const { mode, alpha } = question.asked;
  const hybrid = mode === 'hybrid';
  const nearest = async (limit: number, towards: readonly Answering[]): Promise<readonly NearHit[]> =>
    vector === undefined ? [] : nearHits(index, question, vector, limit, towards);
  const [words, near] = await Promise.all([
    hybrid && alpha < 1 ? wordHits(index, question) : undefined,
    nearest(REACH_BESIDE, []),
  ]);
  const ranked = (some: readonly NearHit[], trust = 1): Candidate[] =>
    hybrid ? fused(words?.hits ?? [], some, question, trust) : some.map(alone);
  const ranking = ranked(near);
  const towards = near.length === 0 ? [] : answering(ranking);
  if (near.length === 0 || (hybrid && towards.length === 0)) return { words, near, towards, ranking };
  const again = await nearest(hybrid ? REACH_BESIDE : REACH_ALONE, towards);
  return { words, near: again, towards, ranking: ranked(again, TRUST_AGAIN) };
}

function wordHits(index: SearchIndex, { asked, filter }: Question): Promise<IndexAnswer> {
  const { plan, narrowing, fields, facets, offset } = asked;
  const limit = offset + asked.limit < WINDOWS[0] ? WINDOWS[0] : WINDOWS[1];
  return index.search({ plan, narrowing, fields, facets, filter, offset: 0, limit, highlight: false, bare: true });
}

/** The nearest that have the phrases and nothing that is left out. */
async function nearHits(
  index: SearchIndex,
  question: Question,
  { model, vector }: QueryVector,
  limit: number,
  towards: readonly Answering[],
): Promise<readonly NearHit[]> {
  const { asked, filter } = question;
  const { narrowing, groupBy, plan } = asked;
  const near = await index.nearest({ model, vector, towards, filter, narrowing, groupBy, limit, bare: true });
  if (near.length === 0 || plan.excluded.length + plan.phrases.length === 0) return near;
  const [unwanted, wanted] = await Promise.all([
    plan.excluded.length === 0 ? new Map<string, number>() : scoresOf(index, question, near, plan.excluded),
    plan.phrases.length === 0 ? undefined : scoresOf(index, question, near, plan.phrases),
  ]);
  return near.filter(({ id }) => !unwanted.has(id) && (wanted === undefined || (wanted.get(id) ?? 0) >= HAS_ALL));
}

/** The scores of those of some entries that have one of the groups. */
async function scoresOf(
  index: SearchIndex,
  { asked, filter }: Question,
  entries: readonly { readonly id: string }[],
  groups: readonly Group[],
): Promise<Map<string, number>> {
  const ids = [...new Set(entries.map(({ id }) => id))];
  const plan: QueryPlan = { ...WITHOUT_WORDS, groups };
  const { hits } = await index.search({
    plan,
    filter,
    fields: asked.fields,
    narrowing: { ...asked.narrowing, ids },
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

/** A cosine as a score from 0 to 1. */
export function cosineScore({ similarity }: Pick<NearHit, 'similarity'>): number {
  return Math.min(1, Math.max(0, similarity));
}

/** Both rankings as one. Of the passages of an entry the nearest is the one that its words count for. */
function fused(hits: readonly Hit[], near: readonly NearHit[], { asked }: Question, trust: number): Candidate[] {
  const byKey = new Map<string, NearHit>();
  const keyOf = new Map<string, string>();
  const byMeaning = near.map((one): Ranked => {
    const key = asked.groupBy === 'chunk' ? `${one.id} ${one.chunk.start}` : one.id;
    byKey.set(key, one);
    if (!keyOf.has(one.id)) keyOf.set(one.id, key);
    return { id: key, score: cosineScore(one) };
  });
  const scores = new Map(hits.map(({ id, score }) => [id, score]));
  const byWords = hits.map(({ id, score }): Ranked => ({ id: keyOf.get(id) ?? id, score }));
  return fuse(byWords, byMeaning, asked.alpha, trust).map(({ id: key, score }) => {
    const one = byKey.get(key);
    const id = one?.id ?? key;
    return { id, score, keyword: scores.get(id), near: one };
  });
}

/** Near entries that have the words too, but beyond the window: they are counted once. */
async function beyondWindow(
  index: SearchIndex,
  question: Question,
  words: IndexAnswer | undefined,
  near: readonly NearHit[],
): Promise<ReadonlySet<string>> {
  if (words === undefined || words.total <= words.hits.length) return new Set();
  const within = new Set(words.hits.map(({ id }) => id));
  const others = near.filter(({ id }) => !within.has(id));
  if (others.length === 0) return new Set();
  return new Set((await scoresOf(index, question, others, question.asked.plan.groups)).keys());
}

async function facetsOf(
  index: SearchIndex,
  { asked, filter }: Question,
  ids: readonly string[],
): Promise<IndexAnswer['facets']> {
  if (asked.facets.length === 0 || ids.length === 0) return {};
  const narrowing = { ...asked.narrowing, ids };
  const { facets } = asked;
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
