import { createHash } from 'node:crypto';
import type { Embedder } from '@commonplace/search/dist/src/embedding/port.js';
import type { Collection, Query } from './collection.js';
import { createOneVector, fuseRanks } from './meaning.js';
import { type Estimate, estimate, mean, ndcg, percentile } from './measures.js';
import { type Mode, openService } from './service.js';
import { createBm25, type Ranker } from './words.js';

/** Parts of the questions. Constants are tuned on one half and judged on the other. */
export const PARTS = ['tuning', 'held out', 'all'] as const;
type Part = (typeof PARTS)[number];

/** Means of nDCG@10 by part. */
export type Means = Readonly<Record<Part, number>>;

/** The results of a simple method, and how much better ours are over all questions. */
interface Plain extends Means {
  readonly lead: Estimate;
}

export interface Compared {
  readonly mode: Mode;
  readonly ours: Means;
  /** Results of simple methods for the same task, by name. */
  readonly plain: Readonly<Record<string, Plain>>;
  /** Latency of the search service in milliseconds. */
  readonly p50: number;
  readonly p95: number;
}

const DEPTH = 10;

/** Compares the service with simple rankings on one collection. */
export async function compare(collection: Collection, embedder: Embedder, folder: string): Promise<Compared[]> {
  const { documents, queries } = collection;
  const bm25 = createBm25(documents, false);
  const stopped = createBm25(documents, true);
  const vector = await createOneVector(documents, queries, embedder);
  const plain: Record<Mode, Record<string, Ranker>> = {
    words: { BM25: bm25, 'BM25, stop words': stopped },
    meaning: { 'one vector': vector },
    hybrid: { 'RRF of both': fuseRanks(bm25, vector), 'RRF, stop words': fuseRanks(stopped, vector) },
  };
  const service = await openService(collection, embedder, folder);
  const compared: Compared[] = [];
  for (const mode of ['words', 'meaning', 'hybrid'] as const) {
    const times: number[] = [];
    const gains = new Map<string, number>();
    for (const query of queries) {
      const began = performance.now();
      gains.set(query.id, gainOf(collection, query, await service.search(query, mode)));
      times.push(performance.now() - began);
    }
    const others = Object.entries(plain[mode]).map(([name, ranker]) => {
      const theirs = new Map(queries.map((query) => [query.id, gainOf(collection, query, ranker(query))]));
      const leads = queries.map(({ id }) => (gains.get(id) as number) - (theirs.get(id) as number));
      const means = meansOf(queries, ({ id }) => theirs.get(id) as number);
      return [name, { ...means, lead: estimate(leads) }] as const;
    });
    compared.push({
      mode,
      ours: meansOf(queries, ({ id }) => gains.get(id) as number),
      plain: Object.fromEntries(others),
      p50: percentile(times, 0.5),
      p95: percentile(times, 0.95),
    });
  }
  await service.close();
  return compared;
}

function gainOf({ grades }: Collection, { id }: Query, ranked: readonly string[]): number {
  return ndcg(ranked, grades.get(id) ?? new Map(), DEPTH);
}

function meansOf(queries: readonly Query[], gain: (query: Query) => number): Means {
  const gains = queries.map((query) => ({ tunes: isForTuning(query), gain: gain(query) }));
  const of = (some: typeof gains): number => mean(some.map((one) => one.gain));
  return {
    tuning: of(gains.filter(({ tunes }) => tunes)),
    'held out': of(gains.filter(({ tunes }) => !tunes)),
    all: of(gains),
  };
}

/**
 * Assigns questions to halves by a hash of their text, so that each stays in its half whatever other questions exist.
 */
function isForTuning({ text }: Query): boolean {
  return (createHash('sha256').update(text).digest()[0] as number) % 2 === 0;
}
