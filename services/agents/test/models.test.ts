import type { Reply } from '@commonplace/kit/rpc';
import { type ChatServer, failures, openChatServer } from '@commonplace/kit/testing/chat-server';
import { contracts } from '@commonplace/platform/contracts';
import { fake, openStage, personCalled, type Stage } from '@commonplace/platform/testing';
import { ListModelsRequest, ModelKind, ModelStatus } from '@commonplace/proto/agents/v1/model_service.js';
import { EmbeddingModelStatus } from '@commonplace/proto/search/v1/embedding_model_service.js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { eventsOf } from '../src/models/contract.js';
import type { ModelRequest } from '../src/models/port.js';
import { openModels } from '../src/open-models.js';
import { agents } from '../src/service.js';
import { settingsOf } from './settings.js';

const embeddings: { fails: boolean; off: boolean } = { fails: false, off: false };
const EMBEDDING = {
  id: 'all-minilm',
  name: 'all-MiniLM-L6-v2',
  provider: 'local',
  contextTokens: 256,
  status: EmbeddingModelStatus.DEGRADED,
};
const search = fake(contracts.embeddingModels, {
  listEmbeddingModels: async () => {
    if (embeddings.fails) throw new Error('search is not there');
    return { models: embeddings.off ? [] : [EMBEDDING] };
  },
});

const MODELS = JSON.stringify([
  { id: 'large', name: 'Large', credit_rates: { input_per_1k: '0.15', output_per_1k: 2 }, context_tokens: 100_000 },
  { id: 'small', is_default: true, supports_tools: false },
]);

async function openWith(env: NodeJS.ProcessEnv): Promise<Stage> {
  Object.assign(process.env, env);
  try {
    return await openStage(agents, [search]);
  } finally {
    for (const name of Object.keys(env)) delete process.env[name];
  }
}

async function list(stage: Stage, request: Parameters<typeof ListModelsRequest.fromPartial>[0] = {}) {
  const reply: Reply = {};
  const options = await stage.as(personCalled('Ann', ['model:read']), {}, reply);
  const { items, page } = await stage.host
    .client(contracts.models)
    .listModels(ListModelsRequest.fromPartial(request), options);
  return { items, page, ids: items.map(({ id }) => id), warnings: (reply.warnings ?? []).map(({ code }) => code) };
}

describe('the list of models without a configured one', () => {
  let stage: Stage;

  beforeAll(async () => {
    stage = await openWith({});
  });
  afterAll(() => stage.close());

  test('contains the built-in model as the default, the embedding model, and a warning', async () => {
    const { items, page, warnings } = await list(stage);
    expect(items).toMatchObject([
      {
        id: 'all-minilm',
        kind: ModelKind.EMBEDDING,
        status: ModelStatus.DEGRADED,
        isDefault: true,
        contextTokens: 256,
      },
      {
        id: 'builtin:extractive',
        kind: ModelKind.CHAT,
        provider: 'local',
        supportsTools: false,
        creditRates: { inputPer1k: '0', outputPer1k: '0' },
        isDefault: true,
        status: ModelStatus.AVAILABLE,
      },
    ]);
    expect(page).toMatchObject({ total: 2, hasMore: false });
    expect(warnings).toEqual(['no_model_configured']);
  });

  test.each([
    [ModelKind.CHAT, ['builtin:extractive'], ['no_model_configured']],
    [ModelKind.EMBEDDING, ['all-minilm'], []],
    [ModelKind.RERANK, [], ['no_model_configured']],
  ])('of kind %s is %j', async (kind, ids, warnings) => {
    expect(await list(stage, { kind })).toMatchObject({ ids, warnings });
  });

  test('is returned in pages', async () => {
    const first = await list(stage, { page: { limit: 1, offset: 0, cursor: '' } });
    expect(first).toMatchObject({ ids: ['all-minilm'], page: { total: 2, hasMore: true, nextOffset: 1 } });
    const second = await list(stage, { page: { limit: 1, offset: 0, cursor: first.page?.nextCursor ?? '' } });
    expect(second).toMatchObject({ ids: ['builtin:extractive'], page: { hasMore: false } });
  });

  test('reports whether the models of search are unreachable or there are none', async () => {
    embeddings.fails = true;
    expect(await list(stage)).toMatchObject({
      ids: ['builtin:extractive'],
      warnings: ['no_model_configured', 'embedding_models_unavailable'],
    });
    expect((await list(stage, { kind: ModelKind.CHAT })).warnings).toEqual(['no_model_configured']);
    embeddings.fails = false;
    embeddings.off = true;
    expect(await list(stage, { kind: ModelKind.EMBEDDING })).toMatchObject({
      ids: [],
      warnings: ['no_model_configured'],
    });
    embeddings.off = false;
  });
});

describe('with models at a URL', () => {
  let server: ChatServer;
  const env = () => ({
    COMMONPLACE_CHAT_MODEL_URL: server.url,
    COMMONPLACE_CHAT_MODEL_API_KEY: 'sk-test',
    COMMONPLACE_CHAT_MODELS: MODELS,
  });
  const request: ModelRequest = { messages: [{ role: 'user', content: 'Hi' }], tools: [], maxOutputTokens: 10 };

  beforeAll(async () => {
    server = await openChatServer({ key: 'sk-test', models: ['large', 'small'] });
  });
  afterAll(() => server.close());

  test('are listed beside the built-in one, without a warning', async () => {
    const stage = await openWith(env());
    const { items, warnings } = await list(stage, { kind: ModelKind.CHAT });
    expect(items).toMatchObject([
      { id: 'builtin:extractive', isDefault: false },
      {
        id: 'large',
        name: 'Large',
        provider: 'openai_compatible',
        contextTokens: 100_000,
        creditRates: { inputPer1k: '0.15', outputPer1k: '2' },
        isDefault: false,
        supportsTools: true,
      },
      { id: 'small', isDefault: true, supportsTools: false },
    ]);
    expect(warnings).toEqual([]);
    await stage.close();
  });

  test('are found by id, and the default without one', async () => {
    const models = openModels(settingsOf(env()));
    expect(models.isConfigured).toBe(true);
    expect([models.get('large'), models.get(undefined), models.default].map(({ info }) => info.id)).toEqual([
      'large',
      'small',
      'small',
    ]);
    expect(models.find('builtin:extractive')?.info.isDefault).toBe(false);
    expect(models.find('huge')).toBeUndefined();
    expect(() => models.get('huge')).toThrow(
      expect.objectContaining({ code: 'NOT_FOUND', details: { model: 'huge' } }),
    );
    await models.close();
  });

  test('show the state as of the last call', async () => {
    const models = openModels(settingsOf(env()));
    const statusAfter = async (...replies: Parameters<ChatServer['next']>) => {
      server.next(...replies);
      await eventsOf(models.get('large'), request).catch(() => undefined);
      return models.status('large');
    };
    expect(models.status('large')).toBe('available');
    expect(await statusAfter(failures.tooManyRequests())).toBe('degraded');
    expect(await statusAfter(failures.contextTooLong())).toBe('available');
    expect(await statusAfter(failures.wrongKey())).toBe('unavailable');
    expect(models.status('small')).toBe('available');
    expect(await statusAfter({ text: 'Hi' })).toBe('available');
    expect(await statusAfter({ text: 'Hi', fault: { type: 'drop', afterTokens: 1 } })).toBe('degraded');
    await models.close();
    await expect(eventsOf(models.get('large'), request)).rejects.toMatchObject({ code: 'model_unavailable' });
  });
});
