import { randomUUID } from 'node:crypto';
import { foldName } from '@commonplace/kit/words';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { type Api, api } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import { newAddress, newKey, type Person, signIn, signUp, tokenOf } from '../src/people.js';
import type { ApiKey, List, Member, Resource, Workspace } from '../src/records.js';
import { standingSystem } from '../src/standing.js';
import type { System } from '../src/system.js';

/** Tests the filters and orders that lists have in common (api: 1.3). */

interface Named {
  readonly id: string;
}

let system: System;
let by: Person;
let ids: Readonly<Record<'org' | 'workspace' | 'document' | 'group' | 'agent', string>>;

const NAMES = ['Alpha', 'Gamma', 'beta', 'Ｄｅｌｔａ'];

/** Creates four records of each kind, one after another. */
beforeAll(async () => {
  system = await standingSystem();
  by = await signIn(system, system.owner);
  const create = async (path: string, body: object) => (await by.post<Named>(path, body)).data.id;
  const [, org = ''] = await inTurn(NAMES, (name) => create('/orgs', { name }));
  const [, , workspace = ''] = await inTurn(NAMES, (name) => create('/workspaces', { name, org_id: org }));
  const at = { workspace_id: workspace };
  const [document = '', ...others] = await inTurn(NAMES, (name) =>
    create('/resources', { type: 'document', name, content: 'One', ...at }),
  );
  await inTurn(NAMES, (name) => newKey(by, ['resource:read'], { name, type: 'org', org_id: org }));
  const [, , , group = ''] = await inTurn(NAMES, (name) => create(`/orgs/${org}/groups`, { name }));
  await inTurn(NAMES, (name) => create(`/workspaces/${workspace}/connectors`, { type: 'http', name, config: HTTP }));
  await inTurn(NAMES, async (name) => {
    await by.patch(`/resources/${document}/content`, { content: name });
    await create(`/resources/${document}/snapshots`, { name });
  });
  await inTurn(NAMES, (name) => create(`/resources/${document}/comments`, { body: name }));
  await inTurn(NAMES, (name) => create(`/workspaces/${workspace}/tags`, { name }));
  await inTurn(others, (id) => create(`/workspaces/${workspace}/pins`, { resource_id: id }));
  await create(`/resources/${document}/permissions`, { principal_type: 'group', principal_id: group, role: 'viewer' });
  await inTurn(NAMES, async (name) => {
    const id = await create('/resources', { type: 'folder', name, ...at });
    await by.del(`/resources/${id}`);
  });
  const [agent = ''] = await inTurn(NAMES, (name) => create('/agents', { name, org_id: org, instructions: 'Answer.' }));
  const words = NAMES.map((name) => name.normalize('NFKC').toLowerCase());
  await inTurn(words, (name) => create(`/agents/${agent}/mcp`, { name, url: 'https://example.com/mcp' }));
  const skills = words.map((name) => ({ name, description: 'Counts', content: 'Count.' }));
  await by.send('PUT', `/agents/${agent}/skills`, { skills });
  await inTurn(others, (id) => create(`/agents/${agent}/pins`, { resource_id: id }));
  await inTurn(NAMES, (name) => create('/workspace-templates', { name, source_workspace_id: workspace }));
  const email = newAddress('Delta');
  const { data: invited } = await by.post<Member>(`/orgs/${org}/members`, { email });
  const member = await signUp(system, 'Delta', { email, invitation: tokenOf(invited.invite_url) });
  await by.post(`/workspaces/${workspace}/members`, { user_id: member.user.id, role: 'viewer' });
  await by.send('PUT', `/orgs/${org}/groups/${group}/members/${member.user.id}`);
  const [automation] = await inTurn(NAMES, (name) => create('/automations', { name, ...at, ...AUTOMATION }));
  const daily = { automation_id: automation, cron: '0 5 * * *' };
  await inTurn(NAMES, (name) => create('/agent-schedules', { name, ...daily }));
  await inTurn(NAMES, (title) => create('/work-items', { title, ...at }));
  await inTurn(NAMES, (content) => create('/memories', { scope: 'workspace', content, ...at }));
  await inTurn(NAMES, (title) => create('/chat-sessions', { title, ...at }));
  await create('/im/conversations', { type: 'group', name: 'Weir', member_ids: [], ...at });
  await create(`/workspaces/${workspace}/imports`, {
    source_type: 'markdown',
    name: 'Ｄｅｌｔａ',
    content: 'x',
    dry_run: true,
  });
  ids = { org, workspace, document, group, agent };
});

const HTTP = { url: 'https://example.com' };
const AUTOMATION = { trigger: { type: 'manual' }, actions: [{ id: 'end', type: 'stop' }] };

/** Calls a function for some values, one after another. */
async function inTurn<T, R>(values: readonly T[], call: (value: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (const value of values) results.push(await call(value));
  return results;
}

const [PAST, FUTURE] = ['2001-01-01T00:00:00Z', '2099-01-01T00:00:00Z'];

type Filter = 'created' | 'updated' | 'created_by' | 'q';

interface Case {
  readonly path: () => string;
  readonly filters: readonly Filter[];
  readonly sorts: readonly string[];
}

const NAMED = ['name', 'created_at', 'updated_at'];
const ORIGIN: readonly Filter[] = ['created', 'updated', 'created_by'];
const EVERY: readonly Filter[] = [...ORIGIN, 'q'];

const LISTS: Readonly<Record<string, Case>> = {
  orgs: { path: () => '/orgs?', filters: ['created', 'updated', 'q'], sorts: NAMED },
  workspaces: { path: () => `/workspaces?org_id=${ids.org}&`, filters: ['created', 'updated', 'q'], sorts: NAMED },
  'API keys': { path: () => `/api-keys?org_id=${ids.org}&`, filters: ['created', 'q'], sorts: ['created_at'] },
  'members of an Org': { path: () => `/orgs/${ids.org}/members?`, filters: ['created', 'q'], sorts: [] },
  'members of a workspace': {
    path: () => `/workspaces/${ids.workspace}/members?`,
    filters: ['created', 'q'],
    sorts: [],
  },
  'members of a group': {
    path: () => `/orgs/${ids.org}/groups/${ids.group}/members?`,
    filters: ['created', 'q'],
    sorts: [],
  },
  templates: { path: () => '/workspace-templates?', filters: EVERY, sorts: [] },
  'MCP servers': { path: () => `/agents/${ids.agent}/mcp?`, filters: ['created', 'q'], sorts: [] },
  skills: { path: () => `/agents/${ids.agent}/skills?`, filters: ['updated', 'q'], sorts: [] },
  'pins of an agent': { path: () => `/agents/${ids.agent}/pins?`, filters: ['created'], sorts: [] },
  groups: { path: () => `/orgs/${ids.org}/groups?`, filters: EVERY, sorts: ['name', 'created_at'] },
  connectors: {
    path: () => `/workspaces/${ids.workspace}/connectors?`,
    filters: ['created', 'created_by', 'q'],
    sorts: ['name', 'created_at'],
  },
  pins: { path: () => `/workspaces/${ids.workspace}/pins?`, filters: ['created'], sorts: [] },
  tags: { path: () => `/workspaces/${ids.workspace}/tags?`, filters: ['created', 'updated', 'q'], sorts: ['name'] },
  imports: { path: () => `/workspaces/${ids.workspace}/imports?`, filters: ['created', 'created_by', 'q'], sorts: [] },
  resources: { path: () => `/workspaces/${ids.workspace}/resources?`, filters: EVERY, sorts: NAMED },
  trash: { path: () => `/workspaces/${ids.workspace}/trash?`, filters: EVERY, sorts: [...NAMED, 'trashed_at'] },
  snapshots: {
    path: () => `/resources/${ids.document}/snapshots?`,
    filters: ['created', 'created_by', 'q'],
    sorts: ['created_at'],
  },
  comments: { path: () => `/resources/${ids.document}/comments?`, filters: ['created', 'created_by'], sorts: [] },
  permissions: { path: () => `/resources/${ids.document}/permissions?`, filters: ['created'], sorts: [] },
  agents: { path: () => `/agents?org_id=${ids.org}&`, filters: EVERY, sorts: NAMED },
  automations: { path: () => `/automations?workspace_id=${ids.workspace}&`, filters: EVERY, sorts: NAMED },
  'work items': {
    path: () => `/work-items?workspace_id=${ids.workspace}&`,
    filters: ORIGIN,
    sorts: ['created_at', 'updated_at', 'number'],
  },
  memories: {
    path: () => `/memories?workspace_id=${ids.workspace}&`,
    filters: ORIGIN,
    sorts: ['created_at', 'updated_at'],
  },
  'chat sessions': {
    path: () => `/chat-sessions?workspace_id=${ids.workspace}&`,
    filters: EVERY,
    sorts: ['title', 'created_at', 'updated_at'],
  },
  schedules: { path: () => `/agent-schedules?workspace_id=${ids.workspace}&`, filters: EVERY, sorts: NAMED },
  conversations: { path: () => `/im/conversations?workspace_id=${ids.workspace}&`, filters: ORIGIN, sorts: [] },
};

/** Returns for a filter a condition that all items meet and one that none does. */
function conditionsOf(filter: Filter): (readonly [all: string, none: string])[] {
  if (filter === 'created_by') return [[`created_by=${by.user.id}`, `created_by=${randomUUID()}`]];
  if (filter === 'q') return [['q=ＥＬＴＡ', 'q=nothing']];
  return [
    [`${filter}_after=${PAST}`, `${filter}_after=${FUTURE}`],
    [`${filter}_before=${FUTURE}`, `${filter}_before=${PAST}`],
  ];
}

/** Returns the items of a list, read by cursors two at a time. */
async function readAll(path: string): Promise<{ id: string; name?: string; title?: string }[]> {
  const items = [];
  for (let cursor = ''; ; ) {
    const { data, page } = await by.get<List<{ id: string; name?: string }>>(`${path}&limit=2${cursor}`);
    items.push(...data.items);
    if (!page.has_more) return items;
    cursor = `&cursor=${encodeURIComponent(page.next_cursor ?? '')}`;
  }
}

describe.each(Object.entries(LISTS))('the list of %s', (_, { path, filters, sorts }) => {
  test.each(filters)('can be limited by %s', async (filter) => {
    for (const [all, none] of conditionsOf(filter)) {
      expect((await readAll(`${path()}${all}`)).length).toBeGreaterThan(0);
      expect((await by.get(`${path()}${none}`)).page.total).toBe(0);
    }
  });

  for (const sort of sorts)
    test(`is sorted by ${sort}, page after page, in both directions`, async () => {
      const items = await readAll(`${path()}sort=${sort}`);
      const falling = await readAll(`${path()}sort=-${sort}`);
      expect(items.length).toBeGreaterThan(3);
      expect(new Set(items.map(({ id }) => id)).size).toBe(items.length);
      expect(falling.map(({ id }) => id).reverse()).toEqual(items.map(({ id }) => id));
      if (sort !== 'name' && sort !== 'title') return;
      const names = items.map(({ name, title = name }) => foldName(title ?? ''));
      expect(names).toEqual([...names].sort());
    });
});

test('access requests can be limited by times and sorted', async () => {
  const { data: workspace } = await by.post<Workspace>('/workspaces', { name: 'Personal' });
  const { data: document } = await by.post<Resource>('/resources', {
    ...{ type: 'document', name: 'Hidden', workspace_id: workspace.id, access_mode: 'restricted' },
  });
  const requests = `/resources/${document.id}/access-requests?`;
  const made = await inTurn(['Ada', 'Bob'], async (name) => {
    const person = await signUp(system, name);
    await by.post(`/workspaces/${workspace.id}/members`, { user_id: person.user.id, role: 'viewer' });
    return (await person.post<Named & { created_at: string }>(requests.slice(0, -1), { role: 'viewer' })).data;
  });
  const idsOf = async (query: string) => (await readAll(`${requests}${query}`)).map(({ id }) => id);
  const [first, second] = made.map(({ id }) => id);
  expect(await idsOf('sort=created_at')).toEqual([first, second]);
  expect(await idsOf('sort=-created_at')).toEqual([second, first]);
  expect(await idsOf(`created_after=${made[0]?.created_at}`)).toEqual([second]);
  expect(await idsOf(`created_before=${made[1]?.created_at}`)).toEqual([first]);
  await eventually(async () =>
    expect((await readAll(`/notifications?created_after=${PAST}`)).length).toBeGreaterThan(0),
  );
  expect((await by.get(`/notifications?created_before=${PAST}`)).page.total).toBe(0);
});

test('the members of a workspace are counted as they are listed, also those who joined the Org before', async () => {
  const { data: org } = await by.post<Named>('/orgs', { name: 'Waders' });
  const terms = { name: 'Open', org_id: org.id, default_role: 'viewer' };
  const { data: workspace } = await by.post<Workspace>('/workspaces', terms);
  const join = async (name: string) => {
    const email = newAddress(name);
    const { data } = await by.post<Member>(`/orgs/${org.id}/members`, { email });
    return signUp(system, name, { email, invitation: tokenOf(data.invite_url) });
  };
  const [first] = await inTurn(['Heron', 'Heron'], join);
  const since = new Date().toISOString();
  await by.post(`/workspaces/${workspace.id}/members`, { user_id: first?.user.id, role: 'editor' });
  for (const [query, count] of [
    ['q=heron', 2],
    [`created_after=${since}`, 1],
    [`created_before=${since}`, 2],
    [`q=heron&created_before=${since}`, 1],
  ]) {
    const path = `/workspaces/${workspace.id}/members?${query}`;
    expect([query, (await readAll(path)).length, (await by.get(path)).page.total]).toEqual([query, count, count]);
  }
});

test('the permissions on a resource are limited by time, and read page by page while some are removed', async () => {
  const { data: workspace } = await by.post<Workspace>('/workspaces', { name: 'Shared' });
  const { data: document } = await by.post<Resource>('/resources', {
    ...{ type: 'document', name: 'Shared', workspace_id: workspace.id },
  });
  const permissions = `/resources/${document.id}/permissions`;
  const members = `/workspaces/${workspace.id}/members`;
  const people = await inTurn(['Ada', 'Bob', 'Cid'], (name) => signUp(system, name));
  const places = await inTurn(people, async ({ user }) => {
    return (await by.post<Named>(members, { user_id: user.id, role: 'viewer' })).data.id;
  });
  const since = new Date().toISOString();
  await inTurn(people, ({ user }) =>
    by.post(permissions, { principal_type: 'user', principal_id: user.id, role: 'commenter' }),
  );
  const idsOf = async (query: string) => (await readAll(`${permissions}?${query}`)).map(({ id }) => id);
  const all = await idsOf('');
  expect(all).toHaveLength(7);
  expect(await idsOf(`created_after=${since}`)).toEqual(all.slice(0, 3));
  expect(await idsOf(`created_before=${since}`)).toEqual(all.slice(3));

  const read: string[] = [];
  for (let cursor = ''; ; ) {
    const { data, page } = await by.get<List<Named>>(`${permissions}?limit=1${cursor}`);
    read.push(...data.items.map(({ id }) => id));
    if (read.length === 2) await by.del(`${permissions}?permission_id=${all[1]}`);
    if (read.length === 5) await by.del(`${members}/${places[0]}`);
    if (!page.has_more) break;
    cursor = `&cursor=${encodeURIComponent(page.next_cursor ?? '')}`;
  }
  expect(read).toEqual(all);
});

describe('what a key has created', () => {
  const SCOPES = [
    ...['resource:read', 'resource:write', 'content:write', 'trash:read'],
    ...['snapshot:write', 'connector:write', 'im:write'],
  ];
  let key: ApiKey;
  let byKey: Api;
  let home: string;
  beforeAll(async () => {
    home = (await by.post<Workspace>('/workspaces', { name: 'Made by a key', org_id: ids.org })).data.id;
    const made = await newKey(by, SCOPES, { type: 'org', org_id: ids.org });
    [key, byKey] = [made, api(system, made.key)];
  });

  /** Returns the ids in a list that are created by the person, by their key, and by another person. */
  const madeBy = async (path: string) => {
    const [person, itself, other] = await inTurn([by.user.id, key.id, randomUUID()], (id) =>
      readAll(`${path}?created_by=${id}`),
    );
    const idsOf = (items: readonly Named[] = []) => items.map(({ id }) => id).sort();
    return [idsOf(person), idsOf(itself), idsOf(other)];
  };

  test('is listed as created by the key, and by its person, as copies and what is in the trash are', async () => {
    const at = { workspace_id: home, type: 'folder' };
    const { data: folder } = await byKey.post<Resource>('/resources', { ...at, name: 'Folder' });
    const inside = { ...at, name: 'Inside', parent_id: folder.id };
    const { data: child } = await byKey.post<Resource>('/resources', inside);
    const { data: copy } = await byKey.post<{ resource: Resource }>(`/resources/${folder.id}/copy`, {});
    const all = await readAll(`/workspaces/${home}/resources?`);
    const everything = all.map(({ id }) => id).sort();
    expect(everything).toEqual(expect.arrayContaining([folder.id, child.id, copy.resource.id]));
    expect(everything).toHaveLength(4);
    expect(await madeBy(`/workspaces/${home}/resources`)).toEqual([everything, everything, []]);
    await byKey.del(`/resources/${folder.id}`);
    expect(await madeBy(`/workspaces/${home}/trash`)).toEqual([[folder.id], [folder.id], []]);
  });

  test('is found by both ids in the lists of snapshots, connectors and conversations, too', async () => {
    const at = { workspace_id: home };
    const { data: document } = await byKey.post<Resource>('/resources', { ...at, type: 'document', name: 'Document' });
    for (const [list, path, body] of [
      [`/resources/${document.id}/snapshots`, `/resources/${document.id}/snapshots`, { name: 'First' }],
      [`/workspaces/${home}/connectors`, `/workspaces/${home}/connectors`, { type: 'http', name: 'Web', config: HTTP }],
      ['/im/conversations', '/im/conversations', { ...at, type: 'group', name: 'Group', member_ids: [] }],
    ] as const) {
      const { id } = (await byKey.post<Named>(path, body)).data;
      const [person, itself, other] = await madeBy(list);
      expect([list, person?.includes(id), itself, other]).toEqual([list, true, [id], []]);
    }
  });
});

test('a list of a place that does not exist is 404, and other filters by an unknown id match nothing', async () => {
  const id = randomUUID();
  const answers = async (paths: readonly string[], name: string) =>
    Promise.all(
      paths.map(async (path) => {
        const { status, body } = await by.get<List<Named>>(`${path}?${name}=${id}`);
        return [path, name, status, body.data?.items.length ?? 0];
      }),
    );
  // Agents of an Org can be seen without access to the workspaces in which they act, so that their list compares ids.
  const ofWorkspaces = [
    ...['/agent-approvals', '/agent-runs', '/agent-schedules', '/automations', '/chat-sessions'],
    ...['/im/conversations', '/memories', '/notifications', '/work-items'],
  ];
  expect(await answers(ofWorkspaces, 'workspace_id')).toEqual(
    ofWorkspaces.map((path) => [path, 'workspace_id', 404, 0]),
  );
  const ofOrgs = ['/chat-sessions', '/im/conversations', '/memories', '/workspaces', '/api-keys'];
  expect(await answers(ofOrgs, 'org_id')).toEqual(ofOrgs.map((path) => [path, 'org_id', 404, 0]));
  const ofAgents = ['/agent-approvals', '/agent-runs', '/agent-schedules', '/chat-sessions', '/memories'];
  expect(await answers(ofAgents, 'agent_id')).toEqual(ofAgents.map((path) => [path, 'agent_id', 200, 0]));
});
