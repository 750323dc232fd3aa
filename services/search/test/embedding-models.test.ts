import { EmbeddingModelStatus } from '@commonplace/proto/search/v1/embedding_model_service.js';
import { describe, expect, test } from '@jest/globals';
import { EmbedderFailure } from '../src/embedding/port.js';
import { watchEmbedder } from '../src/embedding/watched.js';
import { createEmbeddingModelHandlers } from '../src/handlers/embedding-models.js';
import type { Embedders } from '../src/open-embedders.js';
import { createFakeEmbedder } from './embedder.js';
import { createContext } from './fakes.js';

const fake = createFakeEmbedder('some-model');
const current = watchEmbedder(fake);
const embedders: Embedders = { current, provider: 'local', former: [], close: async () => undefined };

const list = async (of: Embedders | undefined = embedders) =>
  (await createEmbeddingModelHandlers(of).listEmbeddingModels({}, createContext())).models;

describe('list of embedding models', () => {
  test('contains the current model', async () => {
    expect(await list()).toEqual([
      {
        id: 'some-model',
        name: expect.any(String),
        provider: 'local',
        contextTokens: 256,
        status: EmbeddingModelStatus.AVAILABLE,
      },
    ]);
  });

  test('is empty when embeddings are off', async () => {
    const { models } = await createEmbeddingModelHandlers(undefined).listEmbeddingModels({}, createContext());
    expect(models).toEqual([]);
  });

  test('contains the outcome of the last call of the model', async () => {
    const statusAfter = async (failure: Error | undefined) => {
      fake.failure = failure;
      await current.embed(['text'], 'query').catch(() => undefined);
      return (await list())[0]?.status;
    };
    expect(await statusAfter(new EmbedderFailure('busy', true))).toBe(EmbeddingModelStatus.DEGRADED);
    expect(await statusAfter(new EmbedderFailure('wrong key', false))).toBe(EmbeddingModelStatus.UNAVAILABLE);
    expect(await statusAfter(undefined)).toBe(EmbeddingModelStatus.AVAILABLE);
  });
});
