import { beforeAll, describe, expect, test } from '@jest/globals';
import { type Api, api } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import { type Person, signIn, signUp } from '../src/people.js';
import type { List, Resource, SearchAnswer, Workspace, WorkspaceMember } from '../src/records.js';
import { standingSystem } from '../src/standing.js';
import type { System } from '../src/system.js';

let system: System;
let owner: Person;
let viewer: Person;
let workspace: Workspace;

beforeAll(async () => {
  system = await standingSystem();
  [owner, viewer] = await Promise.all([signIn(system, system.owner), signUp(system, 'Viewer')]);
  workspace = (await owner.post<Workspace>('/workspaces', { name: 'Fresh' })).data;
  await owner.post(`/workspaces/${workspace.id}/members`, { user_id: viewer.user.id, role: 'viewer' });
});

async function create(body: object): Promise<Resource> {
  const place = 'parent_id' in body ? {} : { workspace_id: workspace.id };
  return (await owner.post<Resource>('/resources', { type: 'document', ...place, ...body })).data;
}

async function search(by: Api, query: string, more: object = {}) {
  return by.post<SearchAnswer>('/search', { query, mode: 'keyword', workspace_ids: [workspace.id], ...more });
}

async function find(by: Api, query: string): Promise<string[]> {
  return (await search(by, query)).data.items.map(({ resource }) => resource.id);
}

function soon<T>(check: () => Promise<T>): Promise<T> {
  return eventually(check);
}

describe('an acknowledged change in a search', () => {
  test('a creation is found by name and by content', async () => {
    const { id } = await create({ name: 'Quokka census', content: 'Marsupials were counted on Rottnest.' });
    await soon(async () => {
      expect(await find(owner, 'quokka')).toEqual([id]);
      expect(await find(owner, 'marsupials Rottnest')).toEqual([id]);
    });
  });

  test('a new name is found, and the former one is not', async () => {
    const { id } = await create({ name: 'Aardvark diary' });
    await soon(async () => expect(await find(owner, 'aardvark')).toEqual([id]));
    await owner.patch(`/resources/${id}`, { name: 'Pangolin diary' });
    await soon(async () => {
      expect(await find(owner, 'pangolin')).toEqual([id]);
      expect(await find(owner, 'aardvark')).toEqual([]);
    });
  });

  test('new content is found, and the former one is not', async () => {
    const { id } = await create({ name: 'Recipe', content: 'Take saffron.' });
    await soon(async () => expect(await find(owner, 'saffron')).toEqual([id]));
    await owner.patch(`/resources/${id}/content`, { content: 'Take cardamom.' });
    await soon(async () => {
      expect(await find(owner, 'cardamom')).toEqual([id]);
      expect(await find(owner, 'saffron')).toEqual([]);
    });
  });

  test('a deletion and a restoration count at once', async () => {
    const { id } = await create({ name: 'Ephemeral mayfly' });
    await soon(async () => expect(await find(owner, 'mayfly')).toEqual([id]));
    await owner.del(`/resources/${id}`);
    expect(await find(owner, 'mayfly')).toEqual([]);
    await owner.post(`/resources/${id}/restore`, {});
    await soon(async () => expect(await find(owner, 'mayfly')).toEqual([id]));
  });

  test('many changes of one document result in the last one', async () => {
    const { id } = await create({ name: 'Counter', content: 'zebrafinch0' });
    for (let i = 1; i <= 20; i++) await owner.patch(`/resources/${id}/content`, { content: `zebrafinch${i}x` });
    await soon(async () => {
      expect(await find(owner, '"zebrafinch20x"')).toEqual([id]);
      expect(await find(owner, '"zebrafinch19x"')).toEqual([]);
    });
  });
});

describe('any part of a text is found', () => {
  const texts: [language: string, name: string, content: string, parts: string[]][] = [
    [
      'Chinese',
      '训练计划',
      '我们需要大量训练数据来改进模型。',
      ['训练数据', '练数', '模型', '据', '訓練數據', '训练计划'],
    ],
    ['Japanese', '議事録', '東京都の会議で検索エンジンを比較した。', ['会議', '検索エンジン', '京都', 'ｴﾝｼﾞﾝ', '較']],
    ['Korean', '회의록', '한국어 문서를 빠르게 검색합니다.', ['문서', '국어', '검색', '빠르게']],
    ['mixed', '发布 v2.5', '新版iPhone手机的Node.js应用', ['iPhone', '手机', 'node.js', '应用']],
    ['Latin', 'Ünïcödé', 'Crème brûlée, naïve façade', ['creme', 'BRULEE', 'facade', 'unicode']],
  ];

  test.each(texts)('%s', async (_, name, content, parts) => {
    const { id } = await create({ name, content });
    await soon(async () => {
      const missed: string[] = [];
      for (const part of parts) if (!(await find(owner, part)).includes(id)) missed.push(part);
      expect(missed).toEqual([]);
    });
  });

  test('has ranges in code points', async () => {
    await create({ name: 'Emoji', content: '😀😀 numbat 😀' });
    await soon(async () => {
      interface Highlighted {
        readonly highlights: readonly {
          readonly snippet: string;
          readonly ranges: readonly (readonly [number, number])[];
        }[];
      }
      const { data } = await owner.post<List<Highlighted>>('/search', { query: 'numbat', mode: 'keyword' });
      const [highlight] = data.items[0]?.highlights ?? [];
      const [start, end] = highlight?.ranges[0] ?? [0, 0];
      expect([...(highlight?.snippet ?? '')].slice(start, end).join('')).toBe('numbat');
    });
  });
});

describe('a person who may not read it does not find it', () => {
  async function restricted(name: string): Promise<Resource> {
    return create({ type: 'folder', name, access_mode: 'restricted' });
  }

  async function sees(by: Api, id: string, word: string): Promise<Record<string, boolean>> {
    const { items } = (await by.get<List<Resource>>(`/workspaces/${workspace.id}/resources?limit=200`)).data;
    return {
      search: (await find(by, word)).includes(id),
      list: items.some((item) => item.id === id),
      read: (await by.get(`/resources/${id}`)).status === 200,
      content: (await by.get(`/resources/${id}/content`)).status === 200,
    };
  }
  const all = { search: true, list: true, read: true, content: true };
  const none = { search: false, list: false, read: false, content: false };

  test('content of a restricted folder is in no search, list, count or lookup by id', async () => {
    const folder = await restricted('Wombat board');
    const open = await create({ name: 'Wombat open' });
    const secret = await create({ name: 'Wombat secret', parent_id: folder.id });
    await soon(async () => expect(await sees(owner, secret.id, 'wombat')).toEqual(all));
    await soon(async () => expect(await sees(viewer, open.id, 'wombat')).toEqual(all));
    expect(await sees(viewer, secret.id, 'wombat')).toEqual(none);
    expect((await viewer.get(`/resources/${folder.id}`)).status).toBe(404);
    const found = await search(viewer, 'wombat', { facets: ['type'] });
    expect([found.page.total, found.data.items.length]).toEqual([1, 1]);
    expect(found.text).not.toContain('secret');
    expect(found.text).not.toContain('board');
    const below = await search(viewer, 'wombat', { parent_id: folder.id });
    expect([below.status, below.error.code]).toEqual([404, 'not_found']);
    const listed = await viewer.get(`/workspaces/${workspace.id}/resources?q=wombat`);
    expect(listed.page.total).toBe(1);
    const children = await viewer.get(`/workspaces/${workspace.id}/resources?parent_id=${folder.id}`);
    expect([children.status, children.error.code]).toEqual([404, 'not_found']);
  });

  test('a move into a restricted folder, and out of it, counts on the next request', async () => {
    const folder = await restricted('Closed shelf');
    const { id } = await create({ name: 'Echidna papers' });
    await soon(async () => expect(await sees(viewer, id, 'echidna')).toEqual(all));
    await owner.patch(`/resources/${id}`, { parent_id: folder.id });
    expect(await sees(viewer, id, 'echidna')).toEqual(none);
    await soon(async () => expect(await sees(owner, id, 'echidna')).toEqual(all));
    expect(await sees(viewer, id, 'echidna')).toEqual(none);
    await owner.patch(`/resources/${id}`, { parent_id: null });
    expect(await sees(viewer, id, 'echidna')).toEqual(all);
  });

  test('restricting a folder, and opening it, counts on the next request', async () => {
    const folder = await create({ type: 'folder', name: 'Half open' });
    const inner = await create({ type: 'folder', name: 'Inner', parent_id: folder.id });
    const { id } = await create({ name: 'Bilby notes', parent_id: inner.id });
    await soon(async () => expect(await sees(viewer, id, 'bilby')).toEqual(all));
    await owner.patch(`/resources/${folder.id}`, { access_mode: 'restricted' });
    expect(await sees(viewer, id, 'bilby')).toEqual(none);
    await owner.patch(`/resources/${folder.id}`, { access_mode: 'inherit' });
    expect(await sees(viewer, id, 'bilby')).toEqual(all);
  });

  test('leaving the workspace counts on the next request', async () => {
    const person = await signUp(system, 'Leaver');
    const members = `/workspaces/${workspace.id}/members`;
    const { data: member } = await owner.post<WorkspaceMember>(members, { user_id: person.user.id, role: 'editor' });
    const { id } = await create({ name: 'Dugong list' });
    await soon(async () => expect(await sees(person, id, 'dugong')).toEqual(all));
    await owner.del(`${members}/${member.id}`);
    const gone = async () => {
      const reply = await search(person, 'dugong');
      expect([reply.status, reply.body.error?.code]).toEqual([404, 'not_found']);
      const everywhere = await person.post<SearchAnswer>('/search', { query: 'dugong', mode: 'keyword' });
      expect(everywhere.data.items).toEqual([]);
      expect((await person.get(`/resources/${id}`)).status).toBe(404);
    };
    if (system.mode === 'mesh') await eventually(gone);
    else await gone();
  });

  test('a key that is limited to one workspace finds nothing of another one', async () => {
    const { data: other } = await owner.post<Workspace>('/workspaces', { name: 'Other' });
    await owner.post('/resources', { type: 'document', name: 'Thylacine', workspace_id: other.id });
    await soon(async () => {
      const { data } = await owner.post<SearchAnswer>('/search', { query: 'thylacine', mode: 'keyword' });
      expect(data.items).toHaveLength(1);
    });
    const { data: key } = await owner.post<{ key: string }>('/api-keys', {
      name: 'Narrow',
      scopes: ['search:read'],
      workspace_ids: [workspace.id],
    });
    const narrow = api(system, key.key);
    const { data } = await narrow.post<SearchAnswer>('/search', { query: 'thylacine', mode: 'keyword' });
    expect(data.items).toEqual([]);
    const named = await narrow.post('/search', { query: 'thylacine', workspace_ids: [other.id] });
    expect([named.status, named.error.code]).toEqual([403, 'tenant_boundary']);
  });
});

describe('a search', () => {
  test('without semantic search is answered by keyword, with a warning', async () => {
    for (const mode of ['hybrid', 'semantic']) {
      const { status, data, body } = await owner.post<SearchAnswer>('/search', { query: 'quokka', mode });
      expect([status, data.mode, data.degraded]).toEqual([200, 'keyword', true]);
      expect(body.warnings).toHaveLength(1);
    }
    const { data, body } = await owner.post<SearchAnswer>('/search', { query: 'quokka', mode: 'keyword' });
    expect([data.mode, data.degraded, body.warnings]).toEqual(['keyword', false, undefined]);
  });

  test('needs a query', async () => {
    for (const query of ['', '   ', undefined]) {
      const { status, error } = await owner.post('/search', { query });
      expect([status, error.code]).toEqual([400, 'query_required']);
    }
    const { status } = await owner.post('/search', { query: 'x'.repeat(1001) });
    expect(status).toBe(400);
    expect((await owner.post('/search', { query: 'x', workspace_ids: [] })).status).toBe(400);
  });

  test('accepts any input of people', async () => {
    const odd = [
      '"',
      '"unclosed',
      '-',
      '- -',
      '*',
      '(',
      'a AND',
      'NEAR(',
      "' OR 1=1",
      'type:',
      ':',
      '😀',
      '\\',
      '%',
      '{}',
      'a*b',
    ];
    for (const query of odd) {
      const { status } = await owner.post('/search', { query, mode: 'keyword' });
      expect([query, status]).toEqual([query, 200]);
    }
  });
});
