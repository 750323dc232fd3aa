import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Api } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import { signIn } from '../src/people.js';
import type { List, Resource, SearchAnswer, Workspace } from '../src/records.js';
import { type StandingSystem, standingSystem } from '../src/standing.js';
import type { System } from '../src/system.js';

interface Model {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
  readonly status: string;
  readonly max_output_tokens: number | null;
  readonly credit_rates: object;
}

interface Features {
  readonly features: { readonly semantic_search: boolean };
}

/** Timeout for the start of the model's process on a busy machine. */
const EMBEDDED_MS = 60_000;

describe('with the bundled model', () => {
  let system: StandingSystem;
  let owner: Api;
  let workspace: Workspace;
  let vacation: Resource;

  beforeAll(async () => {
    system = await standingSystem('meaning');
    owner = await signIn(system, system.owner);
    workspace = (await owner.post<Workspace>('/workspaces', { name: 'Company' })).data;
    const create = async (name: string, content: string) => {
      const body = { type: 'document', name, content, workspace_id: workspace.id };
      return (await owner.post<Resource>('/resources', body)).data;
    };
    vacation = await create('Time away', 'Employees are entitled to 25 days of paid vacation every year.');
    await create('Backups', 'The database is copied to another site every night.');
    await create('Kitchen', 'Please put cups and plates into the dishwasher.');
  }, 180_000);

  afterAll(() => system?.stop());

  const search = (query: string, mode?: string) =>
    owner.post<SearchAnswer>('/search', { query, ...(mode ? { mode } : {}), workspace_ids: [workspace.id] });

  test('a question finds the answer that has none of its words', async () => {
    const question = 'how long may staff go on holiday';
    expect((await search(question, 'keyword')).data.items).toEqual([]);
    await eventually(async () => {
      const { data } = await search(question, 'semantic');
      expect(data).toMatchObject({ mode: 'semantic', degraded: false });
      expect(data.items).toHaveLength(3);
    }, EMBEDDED_MS);
    for (const mode of ['semantic', 'hybrid', undefined]) {
      const { data } = await search(question, mode);
      expect(data).toMatchObject({ mode: mode ?? 'hybrid', degraded: false });
      expect(data.items[0]?.resource.id).toBe(vacation.id);
    }
  }, 180_000);

  test('the model is listed in the models and the capabilities', async () => {
    const { data, page, body } = await owner.get<List<Model>>('/models?kind=embedding&limit=1');
    expect(data.items).toEqual([
      expect.objectContaining({
        name: 'all-MiniLM-L6-v2',
        provider: 'local',
        kind: 'embedding',
        context_tokens: 256,
        max_output_tokens: null,
        modalities: ['text'],
        supports_tools: false,
        supports_streaming: false,
        credit_rates: { input_per_1k: '0', output_per_1k: '0' },
        is_default: true,
        status: 'available',
      }),
    ]);
    expect(page).toMatchObject({ total: 1, has_more: false });
    expect(body.warnings).toBeUndefined();
    expect((await owner.get<List<Model>>('/models')).data.items).toHaveLength(2);
    expect((await owner.get<Features>('/capabilities')).data.features.semantic_search).toBe(true);
  });

  test('without a configured chat model the built-in one is the default, with a warning', async () => {
    const { data, body } = await owner.get<List<Model>>('/models?kind=chat');
    expect(data.items).toEqual([
      expect.objectContaining({
        id: 'builtin:extractive',
        kind: 'chat',
        supports_tools: false,
        credit_rates: { input_per_1k: '0', output_per_1k: '0' },
        is_default: true,
        status: 'available',
      }),
    ]);
    expect(body.warnings).toEqual([expect.objectContaining({ code: 'no_model_configured' })]);
  });

  test('a kind without models is an empty list with a warning, and an unknown kind is refused', async () => {
    const { data, body } = await owner.get<List<Model>>('/models?kind=rerank');
    expect(data.items).toEqual([]);
    expect(body.warnings).toEqual([expect.objectContaining({ code: 'no_model_configured' })]);
    const { status, error } = await owner.get('/models?kind=oracle');
    expect([status, error.code]).toEqual([400, 'invalid_value']);
    expect((await owner.get('/models?limit=0')).error.code).toBe('invalid_pagination');
  });
});

describe('with embeddings disabled', () => {
  let system: System;
  let owner: Api;

  beforeAll(async () => {
    system = await standingSystem();
    owner = await signIn(system, system.owner);
  }, 180_000);

  test('there is no embedding model, and a search by meaning becomes one by words, with a warning', async () => {
    const { data, body } = await owner.get<List<Model>>('/models?kind=embedding');
    expect(data.items).toEqual([]);
    expect(body.warnings).toEqual([expect.objectContaining({ code: 'no_model_configured' })]);
    expect((await owner.get<Features>('/capabilities')).data.features.semantic_search).toBe(false);
    const found = await owner.post<SearchAnswer>('/search', { query: 'welcome', mode: 'semantic' });
    expect(found.data).toMatchObject({ mode: 'keyword', degraded: true });
    const unavailable = expect.objectContaining({ code: 'embeddings_unavailable' });
    expect(found.body.warnings).toEqual(expect.arrayContaining([unavailable]));
  });
});
