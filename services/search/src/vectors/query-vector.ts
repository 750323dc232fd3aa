import { LRUCache } from 'lru-cache';
import type { CountedTokens } from '../embedding/port.js';
import type { ModelVector } from '../index/port.js';
import type { ServingModel } from './background.js';

/** Holds the vector of a query, the model in the index that it can be compared with, and how much has such vectors. */
export interface QueryVector extends ModelVector {
  /** Whether most entries have vectors of this model. */
  readonly complete: boolean;
}

/** Why there is no vector: embeddings are off, nothing is embedded yet, or the model fails or is too slow. */
type NoVector = 'off' | 'no vectors' | 'no answer';

/** Embeds a query. Calls `count` with the model and the tokens that were sent to a provider. */
export type EmbedQuery = (words: string, count?: CountQuery) => Promise<QueryVector | NoVector>;
export type CountQuery = (counted: CountedTokens, model: string) => void;

/** Cached vectors of earlier queries, because users page through a search. */
const MAX_CACHED_VECTORS = 500;
/** Milliseconds after a failure during which the model is not called. */
const FAILURE_PAUSE_MS = 3000;

/**
 * Creates a function that embeds queries and gives up after `timeoutMs`. `serving` is undefined when embeddings are
 * off.
 */
export function createQueryEmbedder(
  serving: (() => ServingModel | undefined) | undefined,
  timeoutMs: number,
): EmbedQuery {
  const known = new LRUCache<string, Float32Array>({ max: MAX_CACHED_VECTORS });
  let sparedUntil = 0;

  return async (words, count) => {
    const now = serving?.();
    if (serving === undefined) return 'off';
    if (now === undefined) return 'no vectors';
    const { embedder, model, complete } = now;
    const key = `${model}\n${words}`;
    let vector = known.get(key);
    if (vector === undefined) {
      if (Date.now() < sparedUntil) return 'no answer';
      const { name } = embedder.model;
      const counted = count && ((tokens: CountedTokens) => count(tokens, name));
      const embedded = embedder.embed([words], 'query', AbortSignal.timeout(timeoutMs), counted);
      vector = await vectorInTime(embedded, timeoutMs);
      if (vector === undefined) {
        sparedUntil = Date.now() + FAILURE_PAUSE_MS;
        return 'no answer';
      }
      known.set(key, vector);
    }
    return { model, vector, complete };
  };
}

/** Returns the only vector, or undefined when the model fails or is late, even if it ignores the signal. */
async function vectorInTime(vectors: Promise<Float32Array[]>, timeoutMs: number): Promise<Float32Array | undefined> {
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
