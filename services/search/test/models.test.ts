import { ListModelsRequest, ModelKind, ModelStatus } from '@commonplace/proto/search/v1/model_service.js';
import { describe, expect, test } from '@jest/globals';
import type { Embedders } from '../src/embedding/open.js';
import { EmbedderFailure } from '../src/embedding/port.js';
import { watched } from '../src/embedding/watched.js';
import { createModelHandlers } from '../src/handlers/models.js';
import { createFakeEmbedder } from './embedder.js';
import { createContext } from './fakes.js';

const fake = createFakeEmbedder('some-model');
const current = watched(fake);
const embedders: Embedders = { current, provider: 'local', former: [], close: async () => undefined };

function list(
  request: Parameters<typeof ListModelsRequest.fromPartial>[0] = {},
  of: Embedders | undefined = embedders,
) {
  const context = createContext();
  const answer = createModelHandlers(of).listModels(ListModelsRequest.fromPartial(request), context);
  return Promise.resolve(answer).then((value) => ({ ...value, warnings: context.reply.warnings }));
}

describe('the list of models', () => {
  test('has the model that texts are embedded with', async () => {
    const { items, page, warnings } = await list({ page: { limit: 10, offset: 0, cursor: '' } });
    expect(items).toEqual([
      expect.objectContaining({
        id: 'some-model',
        provider: 'local',
        kind: ModelKind.EMBEDDING,
        contextTokens: 256,
        isDefault: true,
        status: ModelStatus.AVAILABLE,
      }),
    ]);
    expect(page).toMatchObject({ limit: 10, offset: 0, total: 1, hasMore: false });
    expect(warnings).toBeUndefined();
    expect((await list({ kind: ModelKind.EMBEDDING })).items).toHaveLength(1);
    expect((await list({ page: { limit: 10, offset: 1, cursor: '' } })).items).toEqual([]);
  });

  test.each([ModelKind.CHAT, ModelKind.RERANK])('is empty for %s, and says so', async (kind) => {
    const { items, page, warnings } = await list({ kind });
    expect(items).toEqual([]);
    expect(page).toMatchObject({ total: 0, hasMore: false });
    expect(warnings).toEqual([expect.objectContaining({ code: 'no_model_configured' })]);
  });

  test('is empty where embeddings are off', async () => {
    const handlers = createModelHandlers(undefined);
    const context = createContext();
    expect((await handlers.listModels(ListModelsRequest.fromPartial({}), context)).items).toEqual([]);
    expect(context.reply.warnings).toEqual([expect.objectContaining({ code: 'no_model_configured' })]);
  });

  test('says how the model did when it was last asked', async () => {
    const statusAfter = async (failure: Error | undefined) => {
      fake.failure = failure;
      await current.embed(['text'], 'query').catch(() => undefined);
      return (await list()).items[0]?.status;
    };
    expect(await statusAfter(new EmbedderFailure('busy', true))).toBe(ModelStatus.DEGRADED);
    expect(await statusAfter(new EmbedderFailure('wrong key', false))).toBe(ModelStatus.UNAVAILABLE);
    expect(await statusAfter(undefined)).toBe(ModelStatus.AVAILABLE);
  });
});
