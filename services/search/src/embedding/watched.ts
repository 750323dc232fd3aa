import { type Embedder, EmbedderFailure } from './port.js';

/** How an embedder did when it was last asked. */
export type Health = 'available' | 'degraded' | 'unavailable';

export interface WatchedEmbedder extends Embedder {
  /** `degraded` after a failure that may pass, `unavailable` after one that will not. */
  health(): Health;
}

/** The same embedder, which remembers how it did. */
export function watched(embedder: Embedder): WatchedEmbedder {
  let health: Health = 'available';
  return {
    model: embedder.model,
    health: () => health,
    close: () => embedder.close(),
    async embed(texts, kind, signal) {
      try {
        const vectors = await embedder.embed(texts, kind, signal);
        health = 'available';
        return vectors;
      } catch (error) {
        if (error instanceof EmbedderFailure) health = error.retryable ? 'degraded' : 'unavailable';
        throw error;
      }
    },
  };
}
