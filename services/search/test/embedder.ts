import { type Embedder, EmbedderFailure, type EmbeddingModel } from '../src/embedding/port.js';

/** Words that are synonyms for the fake. */
const SYNONYMS: readonly (readonly string[])[] = [
  ['holiday', 'vacation', 'leave', 'urlaub', '休假'],
  ['car', 'automobile', 'vehicle'],
  ['money', 'cash', 'funds', 'budget'],
];

export interface FakeEmbedder extends Embedder {
  /** Arguments of each call. */
  readonly calls: { readonly texts: readonly string[]; readonly kind: string }[];
  /** Error that each call rejects with while it is set. */
  failure: Error | undefined;
  /** Milliseconds that a query takes. */
  slowness: number;
}

/** Creates a deterministic fake model that knows words and a few synonyms. */
export function createFakeEmbedder(id = 'fake', dimensions = 64): FakeEmbedder {
  const model: EmbeddingModel = { id, name: id, dimensions, maxTokens: 256 };
  const fake: FakeEmbedder = {
    model,
    calls: [],
    failure: undefined,
    slowness: 0,
    async embed(texts, kind, signal) {
      fake.calls.push({ texts: [...texts], kind });
      if (fake.slowness > 0 && kind === 'query')
        await new Promise((resolve) => setTimeout(resolve, fake.slowness).unref());
      signal?.throwIfAborted();
      if (fake.failure !== undefined) throw fake.failure;
      return texts.map((text) => vectorOf(text, dimensions));
    },
    async close() {
      fake.failure = new EmbedderFailure('closed', false);
    },
  };
  return fake;
}

function vectorOf(text: string, dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions);
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  for (const word of words) {
    const group = SYNONYMS.findIndex((same) => same.includes(word));
    const at = group >= 0 ? group : SYNONYMS.length + (hashOf(word) % (dimensions - SYNONYMS.length));
    vector[at] = (vector[at] as number) + 1;
  }
  const length = Math.hypot(...vector) || 1;
  if (words.length === 0) vector[0] = 1;
  return vector.map((number) => number / length);
}

function hashOf(word: string): number {
  let hash = 2_166_136_261;
  for (const unit of Buffer.from(word)) hash = Math.imul(hash ^ unit, 16_777_619) >>> 0;
  return hash;
}
