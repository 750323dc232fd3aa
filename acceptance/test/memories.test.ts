import { randomUUID } from 'node:crypto';
import { type ChatServer, openChatServer } from '@commonplace/kit/testing/chat-server';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { endOfRun, type Run } from '../src/chat.js';
import { api } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import { newKey, type Person, signUp } from '../src/people.js';
import type { List, Org, Resource, Workspace } from '../src/records.js';
import { type OwnSystem, startSystem } from '../src/system.js';

// Tests memories, and that runs receive them. The model is a double with scripted replies.

interface Memory {
  readonly id: string;
  readonly content: string;
  readonly version: number;
  readonly used_count: number;
  readonly last_used_at: string | null;
  readonly revisions?: readonly { readonly content: string }[];
  readonly withheld?: boolean;
}

let model: ChatServer;
let system: OwnSystem;
let by: Person;
let workspace: Workspace;

const MODELS = [{ id: 'scripted', context_tokens: 8000, max_output_tokens: 1000 }];

beforeAll(async () => {
  model = await openChatServer();
  system = await startSystem({
    COMMONPLACE_SIGN_UP: 'open',
    COMMONPLACE_CHAT_MODEL_URL: model.url,
    COMMONPLACE_CHAT_MODELS: JSON.stringify(MODELS),
    COMMONPLACE_MEMORY_TOKENS: '500',
  });
  by = await signUp(system, 'Keeper');
  workspace = (await by.post<Workspace>('/workspaces', { name: 'Habits' })).data;
}, 180_000);

afterAll(async () => {
  await system?.stop();
  await model?.close();
});

beforeEach(() => model.reset());

const remember = (body: object, who: Person = by) => who.post<Memory>('/memories', body);
const start = async (input: string, who: Person = by) =>
  (await who.post<Run>('/agent-runs', { workspace_id: workspace.id, input })).data.id;
const promptOf = (call = 0) => JSON.stringify(model.calls[call]?.request.messages ?? '');
const memoriesIn = ({ steps = [] }: Run) =>
  steps
    .filter(({ type }) => type === 'memory')
    .flatMap(({ output }) => (output as { memory_ids: string[] }).memory_ids);

describe('a memory', () => {
  test('is stored, found by its words, changed and erased', async () => {
    const content = `Reports go out on Fridays ${randomUUID()}`;
    const { status, data } = await remember({ content, kind: 'fact', tags: ['reports'], importance: 0.8 });
    expect([status, data]).toMatchObject([
      201,
      { content, scope: 'user', status: 'active', is_active: true, is_read_only: false, version: 1 },
    ]);
    const again = await remember({ content: `${content.toUpperCase()}.` });
    expect([again.status, again.data.id]).toEqual([200, data.id]);
    const found = async (query: string) =>
      (await by.get<List<Memory>>(`/memories?${query}`)).data.items.map(({ id }) => id);
    expect(await found('q=friday+report')).toContain(data.id);
    expect(await found('q=saturday')).not.toContain(data.id);
    expect(await found('tag=reports')).toContain(data.id);
    const headers = { 'If-Match': '"v1"' };
    const path = `/memories/${data.id}`;
    const changed = await by.send<Memory>('PATCH', path, { content: 'Reports go out on Mondays' }, { headers });
    expect(changed.data).toMatchObject({ version: 2, revisions: [{ content }] });
    const late = await by.send('PATCH', path, { content: 'Reports go out never' }, { headers });
    expect([late.status, late.error.code]).toEqual([409, 'version_conflict']);
    expect((await by.del(path)).status).toBe(200);
    expect((await by.get(path)).status).toBe(404);
    expect(await found('q=report')).not.toContain(data.id);
  });

  test('is created once by concurrent requests', async () => {
    const body = { content: randomUUID(), scope: 'workspace', workspace_id: workspace.id };
    const made = await Promise.all(Array.from({ length: 10 }, () => remember(body)));
    expect(new Set(made.map(({ data }) => data.id)).size).toBe(1);
    expect(made.map(({ status }) => status).sort()).toEqual([...Array(9).fill(200), 201]);
  });

  test('that was derived from content that a reader may not read is withheld from them', async () => {
    const reader = await signUp(system, 'Reader');
    await by.post(`/workspaces/${workspace.id}/members`, { user_id: reader.user.id, role: 'viewer' });
    const page = { workspace_id: workspace.id, type: 'document', name: 'Vault', access_mode: 'restricted' };
    const { data: source } = await by.post<Resource>('/resources', { ...page, content: 'The code is 7351.' });
    const body = { content: `The code is ${randomUUID()}`, scope: 'workspace', workspace_id: workspace.id };
    const drawn = { ...body, source_resource_ids: [source.id] };
    const { data: memory } = await remember(drawn);
    expect((await reader.get<Memory>(`/memories/${memory.id}`)).data).toMatchObject({ withheld: true, content: '' });
    const byReader = (await remember({ ...drawn, scope: 'user', workspace_id: undefined }, reader)).error;
    expect(byReader).toMatchObject({ code: 'not_found', param: 'source_resource_ids[0]' });
    await by.del(`/memories/${memory.id}`);
  });

  test('of a person in an Org is accessible to its keys, and a Personal one is not', async () => {
    const { data: org } = await by.post<Org>('/orgs', { name: 'Keepers' });
    const scopes = ['memory:read', 'memory:write'];
    const key = api(system, (await newKey(by, scopes, { org_id: org.id })).key);
    const { data: personal } = await remember({ content: randomUUID() });
    const { data: inOrg } = await key.post<Memory>('/memories', { content: randomUUID() });
    expect((await key.get(`/memories/${personal.id}`)).error.code).toBe('tenant_boundary');
    expect((await key.get(`/memories/${inOrg.id}`)).status).toBe(200);
    expect((await by.get(`/memories/${inOrg.id}`)).status).toBe(200);
    const { items } = (await key.get<List<Memory>>('/memories')).data;
    expect(items.map(({ id }) => id)).toEqual([inOrg.id]);
  });
});

describe('a run', () => {
  test('gets pinned content and content that fits the question, as data, and reports it', async () => {
    const place = { scope: 'workspace', workspace_id: workspace.id };
    const pinned = (await remember({ content: 'Answer in verses about herons.', is_pinned: true })).data;
    const fitting = (await remember({ content: 'Cassowaries are fed at noon.', ...place })).data;
    const other = (await remember({ content: 'Penguins are fed at dusk.', ...place })).data;
    model.next({ text: 'At noon.' });
    const run = await endOfRun(by, await start('When do we feed the cassowary?'));
    expect(run.status).toBe('completed');
    expect(memoriesIn(run)).toEqual([pinned.id, fitting.id]);
    expect(promptOf()).toContain('Answer in verses about herons.');
    expect(promptOf()).toContain('Cassowaries are fed at noon.');
    expect(promptOf()).not.toContain('Penguins');
    const used = (await by.get<Memory>(`/memories/${fitting.id}`)).data;
    expect([used.used_count, used.version]).toEqual([1, 1]);
    expect(used.last_used_at).not.toBeNull();
    // A run of another person gets only the memories of the workspace.
    const colleague = await signUp(system, 'Colleague');
    await by.post(`/workspaces/${workspace.id}/members`, { user_id: colleague.user.id, role: 'viewer' });
    model.next({ text: 'At noon.' });
    const theirs = await endOfRun(colleague, await start('When do we feed the cassowary?', colleague));
    expect(memoriesIn(theirs)).toEqual([fitting.id]);
    expect(promptOf(1)).not.toContain('herons');
    for (const { id } of [pinned, fitting, other]) await by.del(`/memories/${id}`);
  });

  test('does not get one in its next prompt that was erased meanwhile', async () => {
    const content = 'The password of the pelican is swordfish.';
    const { data: memory } = await remember({ content, is_pinned: true });
    model.next(
      { toolCalls: [{ id: 'a', name: 'search', arguments: { query: 'pelican' } }], firstDelayMs: 1_500 },
      { text: 'I do not know.' },
    );
    const id = await start('What does the pelican say?');
    await eventually(async () => expect(model.calls.length).toBe(1));
    await by.del(`/memories/${memory.id}`);
    const run = await endOfRun(by, id);
    expect(memoriesIn(run)).toEqual([memory.id]);
    expect(promptOf(0)).toContain(content);
    expect(model.calls.length).toBe(2);
    expect(promptOf(1)).not.toContain('swordfish');
    expect(JSON.stringify(run.steps)).not.toContain('swordfish');
  });
});
