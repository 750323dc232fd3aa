import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { eventually } from '../src/eventually.js';
import { type Person, signIn } from '../src/people.js';
import type { Fault, List, RemovedTag, Resource, SearchAnswer, Tag, Workspace } from '../src/records.js';
import { type StandingSystem, standingSystem } from '../src/standing.js';

let system: StandingSystem;
let by: Person;
let workspace: Workspace;
let tags: string;

beforeAll(async () => {
  system = await standingSystem('tight');
  by = await signIn(system, system.owner);
  workspace = (await by.post<Workspace>('/workspaces', { name: 'Tagged' })).data;
  tags = `/workspaces/${workspace.id}/tags`;
});

afterAll(() => system?.stop());

type Tagged = Resource & { readonly tags: readonly string[]; readonly tag_records: readonly Tag[] | null };

async function create(body: object = {}): Promise<Tagged> {
  const all = { type: 'document', name: 'Page', workspace_id: workspace.id, ...body };
  return (await by.post<Tagged>('/resources', all)).data;
}

const named = (name: string) => `${name} ${randomUUID().slice(0, 8)}`;
const newTag = async (name = named('Tag')) => (await by.post<Tag>(tags, { name })).data;
const listed = async (tag: string) =>
  (await by.get<List<Tagged>>(`/workspaces/${workspace.id}/resources?tag_id=${tag}`)).data.items.map(({ id }) => id);

describe('the tag operation of a workspace', () => {
  test('lists without a name, creates with one, and returns whole records', async () => {
    const name = named('Urgent');
    const made = await by.post<Tag>(tags, { name, color: '#FF8800' });
    expect(made.status).toBe(201);
    expect(made.data).toMatchObject({ name, color: '#ff8800', description: null, usage_count: 0, version: 1 });
    expect(Object.keys(made.data).sort()).toEqual(
      Object.keys((await by.get<List<Tag>>(tags)).data.items[0] as Tag).sort(),
    );
    const again = await by.post<Tag>(tags, { operation: 'create', name: name.toUpperCase() });
    expect([again.status, again.data.id]).toEqual([200, made.data.id]);
    const list = await by.post<List<Tag>>(tags, { q: name });
    expect([list.status, Object.keys(list.data), list.page.total]).toEqual([200, ['items'], 1]);
    const empty = await by.post<List<Tag>>(tags, { q: 'nothing is called so' });
    expect(empty.data).toEqual({ items: [] });
  });

  test('renames, and clears with null', async () => {
    const { id } = (await by.post<Tag>(tags, { name: named('Old'), description: 'Words' })).data;
    const name = named('New');
    const renamed = await by.post<Tag>(tags, { operation: 'update', tag_id: id, name, description: null });
    expect([renamed.status, renamed.data]).toMatchObject([200, { id, name, description: null, version: 2 }]);
  });

  test('reports every error, and stores nothing then', async () => {
    const before = (await by.get(tags)).page.total;
    const wrong = await by.post(tags, { operation: 'create', tag_id: 'x', color: 3, name: '' });
    expect(wrong.status).toBe(400);
    const faults = wrong.error.details as readonly Fault[];
    expect(faults.map(({ param }) => param).sort()).toEqual(['color', 'name', 'tag_id']);
    const unknown = await by.post(tags, { operation: 'merge', tag_id: randomUUID(), into_tag_id: randomUUID() });
    expect([unknown.status, unknown.error.code]).toEqual([404, 'not_found']);
    expect((await by.post(tags, { operation: 'rename' })).error.code).toBe('invalid_value');
    expect((await by.get(tags)).page.total).toBe(before);
  });

  test('reads the tags of many resources at once', async () => {
    const one = await create({ tags: [named('a')] });
    const two = await create();
    const { data } = await by.post<{ items: Tag[]; by_resource: object }>(tags, { resource_ids: [one.id, two.id] });
    expect(data.by_resource).toEqual({ [one.id]: one.tags, [two.id]: [] });
    expect(data.items.map(({ id }) => id)).toEqual(one.tags);
  });
});

describe('the tags of a resource', () => {
  test('are added by id and name, and removed by query', async () => {
    const { id } = await create();
    const path = `/resources/${id}/tags`;
    const tag = await newTag();
    const added = await by.post<List<Tag>>(path, { tag_id: tag.id });
    expect([added.status, added.data.items]).toMatchObject([200, [{ id: tag.id, usage_count: 1 }]]);
    const made = await by.post<List<Tag>>(path, { name: named('Brand new') });
    expect([made.status, made.data.items.length]).toEqual([201, 2]);
    const { data } = await by.get<Tagged>(`/resources/${id}?include=tags`);
    expect(data.tag_records?.map((one) => one.id).sort()).toEqual([...data.tags].sort());
    const left = await by.del<List<Tag>>(`${path}?tag_id=${tag.id}`);
    expect(left.data.items).toHaveLength(1);
    expect((await by.del<List<Tag>>(`${path}?tag_id=${tag.id}`)).status).toBe(200);
    expect((await by.del(path)).error.code).toBe('missing_target');
    expect((await by.get<List<Tag>>(path)).data.items).toHaveLength(1);
  });

  test('are set when it is created and changed', async () => {
    const name = named('Both');
    const made = await create({ tags: [name, name.toUpperCase()] });
    expect(made.tags).toHaveLength(1);
    expect(await listed(made.tags[0] as string)).toEqual([made.id]);
    const list = `/workspaces/${workspace.id}/resources?tag_id=${made.tags[0]}&include=tags`;
    expect((await by.get<List<Tagged>>(list)).data.items[0]?.tag_records).toMatchObject([{ name, usage_count: 1 }]);
    const changed = await by.patch<Tagged>(`/resources/${made.id}`, { tags: null });
    expect([changed.status, changed.data.tags]).toEqual([200, []]);
    const wrong = await by.patch(`/resources/${made.id}`, { tags: [randomUUID()] });
    expect([wrong.status, wrong.error.param]).toEqual([400, 'tags[0]']);
  });

  test('are found by name', async () => {
    const name = named('Field trip');
    const { id, tags: carried } = await create({ name: 'Zebra notes', tags: [name] });
    await create({ name: 'Zebra others' });
    const find = async (query: string) => {
      const body = { query, mode: 'keyword', workspace_ids: [workspace.id] };
      return (await by.post<SearchAnswer>('/search', body)).data.items.map(({ resource }) => resource.id);
    };
    await eventually(async () => {
      expect(await find('zebra')).toHaveLength(2);
      expect(await find(`zebra tag:"${name.toLowerCase()}"`)).toEqual([id]);
      expect(await find(`zebra -tag:"${name}"`)).not.toContain(id);
    });
    expect(await find('zebra tag:unheard-of')).toEqual([]);
    const asked = { query: 'zebra', mode: 'keyword', workspace_ids: [workspace.id], tag_ids: carried, facets: ['tag'] };
    const { data } = await by.post<SearchAnswer & { facets: object }>('/search', asked);
    expect(data.items.map(({ resource }) => resource.id)).toEqual([id]);
    expect(data.facets).toEqual({ tag: { values: [{ value: carried[0], count: 1 }] } });
  });
});

describe.each([3, 12])('a tag on %i resources', (count) => {
  async function spread(): Promise<{ tag: string; ids: string[] }> {
    const { id: tag } = await newTag();
    const made = [];
    for (let i = 0; i < count; i++) made.push((await create({ tags: [tag] })).id);
    return { tag, ids: made };
  }

  test('disappears at once when PATCH removes it', async () => {
    const { tag, ids } = await spread();
    const guess = await by.patch(`/tags/${tag}`, { name: 'Renamed' });
    expect([guess.status, guess.error.code]).toEqual([400, 'unknown_field']);
    for (const none of [[], null]) expect((await by.patch(`/tags/${tag}`, { resource_ids: none })).status).toBe(400);
    const some = await by.patch<RemovedTag>(`/tags/${tag}`, { resource_ids: [ids[0]] });
    expect(some.data).toEqual({ id: tag, deleted: false, detached_count: 1 });
    const all = await by.patch<RemovedTag>(`/tags/${tag}`);
    expect(all.data).toEqual({ id: tag, deleted: true, detached_count: count - 1 });
    for (const id of ids) expect((await by.get<Tagged>(`/resources/${id}`)).data.tags).toEqual([]);
    expect((await by.del(`/tags/${tag}`)).status).toBe(404);
  });

  test('is replaced at once when they are merged', async () => {
    const from = await spread();
    const into = await spread();
    const body = { operation: 'merge', tag_id: from.tag, into_tag_id: into.tag };
    const merged = await by.post<Tag>(tags, body);
    expect([merged.status, merged.data]).toMatchObject([200, { id: into.tag, usage_count: 2 * count }]);
    expect((await listed(into.tag)).sort()).toEqual([...from.ids, ...into.ids].sort());
    expect(await listed(from.tag)).toEqual([]);
    const deleted = await by.del<RemovedTag>(`/tags/${into.tag}`);
    expect(deleted.data.detached_count).toBe(2 * count);
    expect(await listed(into.tag)).toEqual([]);
  });
});
