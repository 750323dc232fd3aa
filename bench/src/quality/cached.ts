import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Embedder, TextKind } from '@commonplace/search/dist/src/embedding/port.js';

/** Wraps an embedder so that it stores the vectors of all texts in two files for the next run. */
export function cached(embedder: Embedder, path: string): Embedder {
  const { id, dimensions } = embedder.model;
  const [keysFile, vectorsFile] = [`${path}.keys`, `${path}.vectors`];
  const known = new Map<string, Float32Array>();
  const keyOf = (text: string, kind: TextKind): string =>
    createHash('sha256')
      .update(JSON.stringify([id, kind, text]))
      .digest('base64url')
      .slice(0, 22);
  mkdirSync(dirname(path), { recursive: true });
  if (existsSync(keysFile)) {
    const { buffer, byteOffset } = readFileSync(vectorsFile);
    const keys = readFileSync(keysFile, 'utf8').split('\n').filter(Boolean);
    for (const [i, key] of keys.entries()) {
      // The vector is copied, because a thread gets the whole buffer with a vector.
      const from = byteOffset + i * dimensions * 4;
      known.set(key, new Float32Array(buffer.slice(from, from + dimensions * 4)));
    }
  }
  return {
    ...embedder,
    async embed(texts, kind, signal) {
      const missing = [...new Set(texts.filter((text) => !known.has(keyOf(text, kind))))];
      const vectors = await embedder.embed(missing, kind, signal);
      for (const [i, text] of missing.entries()) {
        const vector = vectors[i] as Float32Array;
        known.set(keyOf(text, kind), vector);
        appendFileSync(vectorsFile, new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength));
        appendFileSync(keysFile, `${keyOf(text, kind)}\n`);
      }
      return texts.map((text) => known.get(keyOf(text, kind)) as Float32Array);
    },
  };
}
