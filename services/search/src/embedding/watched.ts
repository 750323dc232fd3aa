import { type Embedder, EmbedderFailure } from './port.js';

/** State of an embedder after its last call. */
type Health = 'available' | 'degraded' | 'unavailable';

export interface WatchedEmbedder extends Embedder {
  /** Returns `degraded` after a transient failure and `unavailable` after a permanent one. */
  health(): Health;
}

/** Wraps an embedder and remembers the outcome of its last call. */
export function watchEmbedder(embedder: Embedder): WatchedEmbedder {
  let health: Health = 'available';
  return {
    model: embedder.model,
    health: () => health,
    close: () => embedder.close(),
    async embed(texts, kind, signal, count) {
      try {
        const vectors = await embedder.embed(texts, kind, signal, count);
        health = 'available';
        return vectors;
      } catch (error) {
        if (error instanceof EmbedderFailure) health = error.retryable ? 'degraded' : 'unavailable';
        throw error;
      }
    },
  };
}
