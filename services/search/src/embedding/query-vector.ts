import { LRUCache } from 'lru-cache';
import type { Serving } from './background.js';

/** The vector of a query, and the model that the index has comparable ones of. */
export interface QueryVector {
  readonly model: string;
  readonly vector: Float32Array;
  /** Whether most entries have vectors of it. */
  readonly complete: boolean;
}

/** Why there is none: no vectors to ask, or a model that fails or is too slow. */
export type NoVector = 'off' | 'no vectors' | 'no answer';

export type EmbedQuery = (words: string) => Promise<QueryVector | NoVector>;

/** Vectors kept of queries that were asked before: pages of one search follow each other. */
const KEPT = 500;
/** After a failure nobody waits for the model for so long. */
const SPARED_MS = 3000;

/** Embeds queries; gives up after so many milliseconds. `serving` is absent where embeddings are off. */
export function createQueryEmbedder(serving: (() => Serving | undefined) | undefined, timeoutMs: number): EmbedQuery {
  const known = new LRUCache<string, Float32Array>({ max: KEPT });
  let sparedUntil = 0;

  return async (words) => {
    const now = serving?.();
    if (serving === undefined) return 'off';
    if (now === undefined) return 'no vectors';
    const { embedder, model, complete } = now;
    const key = `${model}\n${words}`;
    let vector = known.get(key);
    if (vector === undefined) {
      if (Date.now() < sparedUntil) return 'no answer';
      vector = await answered(embedder.embed([words], 'query', AbortSignal.timeout(timeoutMs)), timeoutMs);
      if (vector === undefined) {
        sparedUntil = Date.now() + SPARED_MS;
        return 'no answer';
      }
      known.set(key, vector);
    }
    return { model, vector, complete };
  };
}

/** The one vector; undefined where the model fails, or does not answer in time whatever the signal says. */
async function answered(vectors: Promise<Float32Array[]>, timeoutMs: number): Promise<Float32Array | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), timeoutMs + 50).unref();
  });
  try {
    const [vector] = (await Promise.race([vectors, late])) ?? [];
    return vector;
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}
