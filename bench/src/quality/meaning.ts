import type { Embedder } from '@commonplace/search/dist/src/embedding/port.js';
import type { Query, Text } from './collection.js';
import { best, type Ranker } from './words.js';

/**
 * Creates a ranking by one vector per text. The vector represents the name and as much of the text as the model reads.
 */
export async function createOneVector(
  documents: readonly Text[],
  queries: readonly Query[],
  embedder: Embedder,
): Promise<Ranker> {
  const texts = documents.map(({ title, text }) => `${title}\n${text}`.trim());
  const vectors = await embedder.embed(texts, 'document');
  const asked = await embedder.embed(
    queries.map(({ text }) => text),
    'query',
  );
  const vectorOf = new Map(queries.map(({ id }, i) => [id, asked[i] as Float32Array]));
  return ({ id }) => {
    const query = vectorOf.get(id) as Float32Array;
    return best(documents, new Map(vectors.map((vector, i) => [i, product(vector, query)])));
  };
}

function product(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, number, i) => sum + number * (b[i] as number), 0);
}

const K = 60;

/** Fuses two rankings by reciprocal rank. */
export function fuseRanks(one: Ranker, other: Ranker): Ranker {
  return (query) => {
    const scores = new Map<string, number>();
    for (const ranking of [one(query), other(query)]) {
      for (const [i, id] of ranking.entries()) scores.set(id, (scores.get(id) ?? 0) + 1 / (K + i + 1));
    }
    return [...scores].sort(([, a], [, b]) => b - a).map(([id]) => id);
  };
}
