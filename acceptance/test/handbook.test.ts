import { beforeAll, describe, expect, test } from '@jest/globals';
import { type Api, api } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import { depthOf, folderOf, type Handbook, nameOf, PHRASES, readHandbook } from '../src/handbook.js';
import { newKey } from '../src/people.js';
import type { Content, List, Resource, SearchAnswer, TrashItem, Workspace } from '../src/records.js';
import { standingSystem } from '../src/standing.js';
import type { System } from '../src/system.js';
import { forEach, walk } from '../src/walk.js';

const handbook = readHandbook();
if (handbook === undefined) console.log('handbook.zip is not there (COMMONPLACE_TEST_DATA): its suite is skipped.');

/** Maximum number of concurrent requests. */
const WIDTH = 16;
const SCOPES = [
  ...['workspace:read', 'workspace:write', 'resource:read', 'resource:write', 'content:read', 'content:write'],
  ...['search:read', 'trash:read', 'trash:write'],
];

const NO_HANDBOOK: Handbook = { pages: new Map(), folders: [] };

(handbook === undefined ? describe.skip : describe)('a handbook of 883 pages', () => {
  const { pages, folders } = handbook ?? NO_HANDBOOK;
  const paths = [...folders, ...pages.keys()];
  /** Resources by path. */
  const made = new Map<string, Resource>();
  const idOf = (path: string) => (made.get(path) as Resource).id;
  const below = (folder: string) => paths.filter((path) => path.startsWith(`${folder}/`));
  let system: System;
  let by: Api;
  let workspace: Workspace;
  let list: string;

  beforeAll(async () => {
    system = await standingSystem();
    const { key } = await newKey(api(system, system.owner.apiKey), SCOPES);
    by = api(system, key);
    workspace = (await by.post<Workspace>('/workspaces', { name: 'Handbook' })).data;
    list = `/workspaces/${workspace.id}/resources`;
  });

  async function create(path: string, body: object): Promise<void> {
    const parent = folderOf(path);
    const place = parent === '' ? { workspace_id: workspace.id } : { parent_id: idOf(parent) };
    const { status, data } = await by.post<Resource>('/resources', { name: nameOf(path), ...place, ...body });
    expect(status).toBe(201);
    made.set(path, data);
  }

  async function find(query: string, more: object = {}): Promise<string[]> {
    const body = { query, mode: 'keyword', workspace_ids: [workspace.id], limit: 3, ...more };
    const { data } = await by.post<SearchAnswer>('/search', body);
    return data.items.map(({ resource }) => resource.id);
  }

  test('is stored as a tree of folders and documents', async () => {
    expect(pages.size).toBe(883);
    for (let depth = 0; depth <= Math.max(...folders.map(depthOf)); depth++) {
      const level = folders.filter((folder) => depthOf(folder) === depth);
      await forEach(level, WIDTH, (folder) => create(folder, { type: 'folder' }));
    }
    await forEach([...pages], WIDTH, ([path, content]) => create(path, { type: 'document', content }));
    expect(made.size).toBe(paths.length);
  }, 120_000);

  test('is listed completely by offset and by cursor, in the same order', async () => {
    const ids = paths.map(idOf).sort();
    const byOffset = await walk<Resource>(by, list, 'offset');
    const byCursor = await walk<Resource>(by, list, 'cursor', 97);
    expect(byOffset.items.map(({ id }) => id).sort()).toEqual(ids);
    expect(byCursor.items.map(({ id }) => id)).toEqual(byOffset.items.map(({ id }) => id));
    for (const page of [...byOffset.pages, ...byCursor.pages]) {
      expect([page.total, page.total_is_estimate]).toEqual([paths.length, false]);
    }
    expect(byOffset.pages.map(({ offset }) => offset)).toEqual(byOffset.pages.map((_, i) => i * 200));
    expect(byOffset.pages.at(-1)).toMatchObject({ has_more: false, next_offset: null, next_cursor: null });
  });

  test('is counted by its workspace and filtered by type and name', async () => {
    expect((await by.get<Workspace>(`/workspaces/${workspace.id}`)).data.counts).toEqual({
      resources: paths.length,
      members: 1,
    });
    expect((await by.get(`${list}?type=document&limit=1`)).page.total).toBe(pages.size);
    expect((await by.get(`${list}?type=folder&limit=1`)).page.total).toBe(folders.length);
    const sorted = await walk<Resource>(by, `${list}?type=folder&sort=-name`, 'cursor', 50);
    expect(sorted.items.map(({ id }) => id).sort()).toEqual(folders.map(idOf).sort());
    const { data } = await by.get<List<Resource>>(`${list}?q=BAMBOO&limit=10`);
    expect(data.items.map(({ id }) => id)).toContain(idOf('departments/people-talent/people-ops/tools/bamboohr.md'));
  });

  test('lists the children of every folder, and of the root', async () => {
    await forEach(['', ...folders], WIDTH, async (folder) => {
      const parent = folder === '' ? 'root' : idOf(folder);
      const children = paths.filter((path) => folderOf(path) === folder);
      const { items, pages: read } = await walk<Resource>(by, `${list}?parent_id=${parent}`, 'cursor', 50);
      expect(items.map(({ id }) => id).sort()).toEqual(children.map(idOf).sort());
      expect(read[0]?.total).toBe(children.length);
      for (const { id, has_children: hasChildren, child_count: count } of items) {
        const path = children.find((child) => idOf(child) === id) as string;
        const expected = paths.filter((one) => folderOf(one) === path).length;
        expect([path, hasChildren, count]).toEqual([path, expected > 0, expected]);
      }
    });
    const folder = 'departments/cloud';
    const { pages: read } = await walk<Resource>(by, `${list}?parent_id=${idOf(folder)}&recursive=true`, 'cursor');
    expect(read[0]?.total).toBe(below(folder).length);
  });

  test('returns every page byte for byte', async () => {
    const different = await forEach([...pages], WIDTH, async ([path, text]) => {
      const { data } = await by.get<Content>(`/resources/${idOf(path)}/content`);
      return Buffer.from(data.content).equals(Buffer.from(text)) ? [] : [path];
    });
    expect(different.flat()).toEqual([]);
    expect([...pages.values()].filter((text) => text === '')).toHaveLength(3);
  });

  test('finds known passages of a page', async () => {
    const missed = await eventually(async () => {
      const found = await forEach(PHRASES, 4, async ([words, page]) =>
        (await find(words)).includes(idOf(page)) ? [] : [`${words}: ${page}`],
      );
      expect(found.flat()).toEqual([]);
      return found.flat();
    });
    expect(missed).toEqual([]);
  });

  test('a moved subtree keeps its inner paths and is found in its new place', async () => {
    const page = 'departments/cloud/working-agreements.md';
    const words = 'paring down tech debt';
    const { data: moved } = await by.patch<Resource>(`/resources/${idOf('departments/cloud')}`, {
      parent_id: idOf('team'),
    });
    expect(moved.parent_id).toBe(idOf('team'));
    const { data } = await by.get<Resource>(`/resources/${idOf(page)}?include=path`);
    expect(data.path?.map(({ name }) => name)).toEqual(['team', 'cloud']);
    await eventually(async () => {
      expect(await find(words, { parent_id: idOf('team') })).toContain(idOf(page));
      expect(await find(words, { parent_id: idOf('departments') })).not.toContain(idOf(page));
    });
    const { page: counted } = await by.get(`${list}?parent_id=${idOf('team')}&recursive=true&limit=1`);
    expect(counted.total).toBe(below('team').length + 1 + below('departments/cloud').length);

    await by.patch(`/resources/${idOf('departments/cloud')}`, { parent_id: idOf('departments') });
    await eventually(async () => {
      expect(await find(words, { parent_id: idOf('departments') })).toContain(idOf(page));
      expect(await find(words, { parent_id: idOf('team') })).not.toContain(idOf(page));
    });
  });

  test('a subtree cannot be moved below itself', async () => {
    const { status, error } = await by.patch(`/resources/${idOf('departments')}`, {
      parent_id: idOf('departments/cloud'),
    });
    expect([status, error.code]).toEqual([409, 'cycle_detected']);
  });

  test('a subtree in the trash appears nowhere else, and is restored completely', async () => {
    const folder = 'departments/security';
    const page = `${folder}/cryptography-policy.md`;
    const count = below(folder).length + 1;
    const words = 'cryptographic controls to mitigate';
    const total = async () => (await by.get(`${list}?limit=1`)).page.total;
    const trash = async () => (await by.get<List<TrashItem>>(`/workspaces/${workspace.id}/trash`)).data.items;

    interface Trashed {
      readonly trashed_count: number;
    }
    const { data: gone } = await by.del<Trashed>(`/resources/${idOf(folder)}`);
    expect(gone).toMatchObject({ id: idOf(folder), deleted: true, state: 'trashed', trashed_count: count });
    for (const path of [folder, page]) {
      const { status, error } = await by.get(`/resources/${idOf(path)}`);
      expect([path, status, error.code]).toEqual([path, 404, 'resource_in_trash']);
    }
    expect((await by.get(`/resources/${idOf(page)}/content`)).status).toBe(404);
    expect((await by.get<Resource>(`/resources/${idOf(page)}?include_trashed=true`)).data.state).toBe('trashed');
    expect(await total()).toBe(paths.length - count);
    expect(await trash()).toMatchObject([{ id: idOf(folder), descendant_count: count - 1 }]);
    await eventually(async () => expect(await find(words)).not.toContain(idOf(page)));
    expect((await by.del<Trashed>(`/resources/${idOf(folder)}`)).data.trashed_count).toBe(count);

    const { data: back } = await by.post(`/resources/${idOf(folder)}/restore`, {});
    expect(back).toMatchObject({
      resource: { id: idOf(folder), state: 'active' },
      restored_count: count,
      relocated: false,
    });
    expect(await trash()).toEqual([]);
    expect(await total()).toBe(paths.length);
    const { data: content } = await by.get<Content>(`/resources/${idOf(page)}/content`);
    expect(content.content).toBe(pages.get(page));
    await eventually(async () => expect(await find(words)).toContain(idOf(page)));
    const { status, error } = await by.post(`/resources/${idOf(folder)}/restore`, {});
    expect([status, error.code]).toEqual([409, 'not_in_trash']);
  });

  test('a creation that is sent twice with one key takes effect once', async () => {
    const body = { type: 'document', name: 'Once', workspace_id: workspace.id, content: 'once' };
    const headers = { 'Idempotency-Key': 'create-once' };
    const first = await by.post<Resource>('/resources', body, { headers });
    const second = await by.post<Resource>('/resources', body, { headers });
    expect([second.status, second.data]).toEqual([201, first.data]);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect(second.headers.get('original-request-id')).toBe(first.body.request_id);
    expect(second.body.request_id).not.toBe(first.body.request_id);
    expect((await by.get(`${list}?q=once&limit=1`)).page.total).toBe(1);
    await by.del(`/resources/${first.data.id}`);
  });

  test('a write to a page that has changed meanwhile is refused', async () => {
    const path = `/resources/${idOf('index.md')}/content`;
    const before = await by.get<Content>(path);
    const headers = { 'If-Match': before.headers.get('etag') ?? '' };
    const first = await by.patch<Content>(path, { content: 'First' }, { headers });
    expect(first.data).toMatchObject({ changed: true, version: before.data.version + 1 });
    const second = await by.patch<Content>(path, { content: 'Second' }, { headers });
    expect([second.status, second.error.code]).toEqual([409, 'version_conflict']);
    expect(second.error.details).toMatchObject({ current_version: first.data.version });
    expect((await by.get<Content>(path)).data.content).toBe('First');
    expect((await by.patch<Content>(path, { content: 'First' })).data.changed).toBe(false);
  });
});
