import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';

/** Passages whose vectors are cached: 1.5 kB each with 384 dimensions. */
const MAX_CACHED_PASSAGES = 2000;

/**
 * Caches the vectors of recently embedded passages of one model, so that an edit of an entry embeds only the passages
 * that it changes, and a retry only those that are missing.
 */
export interface KnownPassages {
  /**
   * Returns the vectors of all texts, in their order. `embed` gets those that are not known, at most `atOnce` at a time,
   * with their indices.
   */
  vectorsOf(
    texts: readonly string[],
    atOnce: number,
    embed: (texts: readonly string[], indices: readonly number[]) => Promise<readonly Float32Array[]>,
  ): Promise<Float32Array[]>;
}

export function createKnownPassages(): KnownPassages {
  const known = new LRUCache<string, Float32Array>({ max: MAX_CACHED_PASSAGES });
  return {
    async vectorsOf(texts, atOnce, embed) {
      const keys = texts.map((text) => createHash('sha256').update(text).digest('base64url'));
      const vectors = new Map(keys.map((key) => [key, known.get(key)]));
      // Of equal passages one is embedded.
      const lacking = new Map(
        keys.map((key, i) => [key, i] as const).filter(([key]) => vectors.get(key) === undefined),
      );
      const missing = [...lacking.values()];
      for (let at = 0; at < missing.length; at += atOnce) {
        const indices = missing.slice(at, at + atOnce);
        const made = await embed(
          indices.map((i) => texts[i] as string),
          indices,
        );
        for (const [n, i] of indices.entries()) {
          const vector = made[n] as Float32Array;
          vectors.set(keys[i] as string, vector);
          known.set(keys[i] as string, vector);
        }
      }
      return keys.map((key) => vectors.get(key) as Float32Array);
    },
  };
}
