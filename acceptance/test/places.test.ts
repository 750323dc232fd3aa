import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { api } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import { newAddress, newKey, type Person, signIn, signUp, tokenOf } from '../src/people.js';
import type {
  List,
  Me,
  Member,
  NotificationList,
  Org,
  Pin,
  Resource,
  Workspace,
  WorkspaceMember,
} from '../src/records.js';
import { type StandingSystem, standingSystem } from '../src/standing.js';

let system: StandingSystem;
let owner: Person;
let org: Org;
let workspace: Workspace;

beforeAll(async () => {
  system = await standingSystem('tight');
  owner = await signIn(system, system.owner);
  org = (await owner.post<Org>('/orgs', { name: 'Places' })).data;
  workspace = (await owner.post<Workspace>('/workspaces', { name: 'Plans', org_id: org.id })).data;
});

afterAll(() => system?.stop());

async function create(name: string, more: object = {}): Promise<Resource> {
  return (await owner.post<Resource>('/resources', { type: 'folder', name, workspace_id: workspace.id, ...more })).data;
}

async function join(name: string): Promise<Person> {
  const email = newAddress(name);
  const { data } = await owner.post<Member>(`/orgs/${org.id}/members`, { email, role: 'member' });
  return signUp(system, name, { email, invitation: tokenOf(data.invite_url) });
}

describe('pins', () => {
  const path = () => `/workspaces/${workspace.id}/pins`;
  const names = async (by: Person, filter = '') =>
    (await by.get<List<Pin>>(path() + filter)).data.items.map(({ item }) => item.name);

  test('are added, moved, ordered and removed, by query or by body', async () => {
    const [a, b, c] = [await create('A'), await create('B'), await create('C')];
    const first = await owner.post<Pin>(path(), { resource_id: a.id });
    expect([first.status, first.data.position, first.data.visibility]).toEqual([201, 0, 'workspace']);
    expect((await owner.post<Pin>(path(), { resource_id: a.id })).status).toBe(200);
    await owner.post<Pin>(path(), { item: { type: 'resource', id: b.id } });
    const { data: third } = await owner.post<Pin>(path(), { resource_id: c.id, position: 0 });
    expect(await names(owner)).toEqual(['C', 'A', 'B']);
    const moved = await owner.patch<List<Pin>>(`${path()}?pin_id=${third.id}`, { position: 9 });
    expect(moved.data.items.map(({ item }) => item.name)).toEqual(['A', 'B', 'C']);
    const order = moved.data.items.map(({ id }) => id).reverse();
    await owner.patch(path(), { order });
    expect(await names(owner)).toEqual(['C', 'B', 'A']);
    const wrong = await owner.patch(path(), { order: order.slice(1) });
    expect([wrong.status, wrong.error.code, wrong.error.param]).toEqual([400, 'invalid_value', 'order']);
    expect((await owner.del(`${path()}?item_type=resource&item_id=${b.id}`)).data).toMatchObject({ deleted: true });
    const both = await owner.send('DELETE', `${path()}?pin_id=${first.data.id}`, { pin_id: third.id });
    expect([both.status, both.error.code]).toEqual([400, 'ambiguous_target']);
    const none = await owner.del(path());
    expect([none.status, none.error.code]).toEqual([400, 'missing_target']);
    expect((await owner.send('DELETE', path(), { resource_id: a.id })).status).toBe(200);
    expect(await names(owner)).toEqual(['C']);
  });

  test('of resources that a person may not read are not shown to them', async () => {
    const person = await join('Reader');
    await owner.post(`/workspaces/${workspace.id}/members`, { user_id: person.user.id, role: 'editor' });
    const hidden = await create('Hidden', { access_mode: 'restricted' });
    await owner.post(path(), { resource_id: hidden.id });
    await eventually(async () => expect(await names(person)).toEqual(['C']));
    expect((await person.get(path())).text).not.toContain('Hidden');
    const refused = await person.post(path(), { resource_id: hidden.id });
    expect([refused.status, refused.error.code]).toEqual([404, 'not_found']);
    expect(await names(owner)).toEqual(['C', 'Hidden']);
    await person.post(path(), { resource_id: (await create('Mine')).id, visibility: 'me' });
    expect(await names(person, '?visibility=me')).toEqual(['Mine']);
    expect(await names(owner)).toEqual(['C', 'Hidden']);
  });

  test('can be of agents, chat sessions, conversations and automations', async () => {
    const workspace_id = workspace.id;
    const person = await join('Colleague');
    await owner.post(`/workspaces/${workspace.id}/members`, { user_id: person.user.id, role: 'editor' });
    const agent = await owner.post<{ id: string }>('/agents', {
      name: 'Helper',
      visibility: 'workspace',
      org_id: org.id,
    });
    await owner.send('PUT', `/agents/${agent.data.id}/workspaces`, { workspace_ids: [workspace_id] });
    const session = await owner.post<{ id: string }>('/chat-sessions', { workspace_id, title: 'Private thoughts' });
    const channel = { workspace_id, type: 'channel', name: 'Announcements', icon: '📣' };
    const conversation = await owner.post<{ id: string }>('/im/conversations', channel);
    const automation = await owner.post<{ id: string }>('/automations', {
      ...{ workspace_id, name: 'Digest', trigger: { type: 'manual' } },
      actions: [{ id: 'end', type: 'stop' }],
    });
    const made = { agent, chat_session: session, im_conversation: conversation, automation };
    for (const [type, { status, data }] of Object.entries(made)) {
      expect([type, status]).toEqual([type, 201]);
      const pinned = await owner.post<Pin>(path(), { item: { type, id: data.id } });
      expect([type, pinned.status, pinned.data?.item.type]).toEqual([type, 201, type]);
      expect((await owner.post(path(), { item: { type, id: data.id } })).status).toBe(200);
      const wrong = await owner.post(path(), { item: { type: 'resource', id: data.id } });
      expect([type, wrong.status, wrong.error.code, wrong.error.param]).toEqual([type, 404, 'not_found', 'item.id']);
    }
    const all = ['Helper', 'Private thoughts', 'Announcements', 'Digest'];
    expect((await names(owner)).slice(-4)).toEqual(all);
    await eventually(async () =>
      expect((await names(person)).slice(-3)).toEqual(['Helper', 'Announcements', 'Digest']),
    );
    expect((await person.get(path())).text).not.toContain('Private thoughts');
    await owner.patch(path(), { item: { type: 'automation', id: automation.data.id }, position: 0 });
    expect((await names(owner))[0]).toBe('Digest');
    const gone = await owner.del(`${path()}?item_type=agent&item_id=${agent.data.id}`);
    expect([gone.status, gone.data]).toEqual([200, expect.objectContaining({ deleted: true })]);
    const unknown = await owner.del(`${path()}?item_type=chat_session&item_id=${automation.data.id}`);
    expect([unknown.status, unknown.error.code]).toEqual([404, 'not_found']);
    await owner.del(`/chat-sessions/${session.data.id}`);
    await owner.del(`/im/conversations/${conversation.data.id}?for=everyone`);
    await owner.del(`/automations/${automation.data.id}`);
    const left = await names(owner);
    for (const name of all) expect(left).not.toContain(name);
  });

  test('that are added concurrently are all stored', async () => {
    const folders = await Promise.all(Array.from({ length: 8 }, (_, i) => create(`At once ${i}`)));
    const made = await Promise.all(folders.map(({ id }) => owner.post<Pin>(path(), { resource_id: id, position: 0 })));
    expect(made.map(({ status }) => status)).toEqual(made.map(() => 201));
    const shown = await names(owner);
    for (const { name } of folders) expect(shown.filter((one) => one === name)).toEqual([name]);
  });

  test('are deleted with their resources', async () => {
    const gone = await create('Soon gone');
    await owner.post(path(), { resource_id: gone.id });
    await owner.del(`/resources/${gone.id}`);
    expect(await names(owner)).not.toContain('Soon gone');
    await owner.post(`/resources/${gone.id}/restore`, {});
    expect(await names(owner)).toContain('Soon gone');
  });

  test('end when an agent or a resource leaves the workspace, and are not back with it', async () => {
    const agent = await owner.post<{ id: string }>('/agents', { name: 'Guest worker', org_id: org.id });
    const places = (ids: string[]) => owner.send('PUT', `/agents/${agent.data.id}/workspaces`, { workspace_ids: ids });
    await places([workspace.id]);
    const folder = await create('Box', { type: 'folder' });
    const child = await create('In the box', { parent_id: folder.id });
    await owner.post(path(), { item: { type: 'agent', id: agent.data.id } });
    for (const { id } of [folder, child]) await owner.post(path(), { resource_id: id });
    const { data: other } = await owner.post<Workspace>('/workspaces', { name: 'Other', org_id: org.id });
    const move = (workspace_id: string) => owner.patch(`/resources/${folder.id}`, { workspace_id, parent_id: null });
    expect([(await places([])).status, (await move(other.id)).status]).toEqual([200, 200]);
    expect([(await places([workspace.id])).status, (await move(workspace.id)).status]).toEqual([200, 200]);
    await eventually(async () => {
      const shown = await names(owner);
      for (const name of ['Guest worker', 'Box', 'In the box']) expect(shown).not.toContain(name);
    });
    expect((await owner.post(path(), { item: { type: 'agent', id: agent.data.id } })).status).toBe(201);
  });
});

describe('notifications', () => {
  const list = async (by: Person, query = '') =>
    (await by.get<NotificationList>(`/notifications${query}`, { headers: { 'X-Tenant': org.id } })).data;

  test('report who was added, and report to the inviter who has joined', async () => {
    const person = await join('Newcomer');
    await owner.post(`/workspaces/${workspace.id}/members`, { user_id: person.user.id, role: 'viewer' });
    const notified = await eventually(async () => {
      const answer = await list(person);
      expect(answer.items.map(({ title }) => title)).toEqual(['Owner added you to “Plans”']);
      return answer;
    });
    expect(notified.unread_count).toBe(1);
    expect(notified.items[0]).toMatchObject({
      type: 'member_added',
      target: { type: 'workspace', id: workspace.id, url: `${system.baseUrl}/api/v1/workspaces/${workspace.id}` },
      count: 1,
      is_read: false,
    });
    await eventually(async () => {
      const titles = (await list(owner)).items.map(({ title }) => title);
      expect(titles).toContain('Newcomer has joined “Places”');
    });
  });

  test('belong to one tenant and one person', async () => {
    const person = await join('Tenant');
    await owner.post(`/workspaces/${workspace.id}/members`, { user_id: person.user.id, role: 'viewer' });
    await eventually(async () => expect((await list(person)).items).toHaveLength(1));
    expect((await person.get<NotificationList>('/notifications')).data).toMatchObject({ items: [], unread_count: 0 });
    const scopes = ['notification:read', 'notification:write'];
    const key = api(system, (await newKey(person, scopes)).key);
    expect((await key.get<NotificationList>('/notifications')).data.items).toEqual([]);
    const named = await person.get<NotificationList>(`/notifications?workspace_id=${workspace.id}`);
    expect(named.data.items).toHaveLength(1);
    const [{ id } = { id: '' }] = named.data.items;
    const foreign = await owner.patch(
      '/notifications',
      { ids: [id], is_read: true },
      { headers: { 'X-Tenant': org.id } },
    );
    expect(foreign.data).toMatchObject({ updated_count: 0 });
    expect((await list(person)).unread_count).toBe(1);
  });

  test('are marked and deleted, by query or by body', async () => {
    const headers = { 'X-Tenant': org.id };
    const before = await list(owner);
    expect(before.items.length).toBeGreaterThan(0);
    const [{ id } = { id: '' }] = before.items;
    const read = await owner.patch('/notifications', { ids: [id], is_read: true }, { headers });
    expect(read.data).toEqual({ updated_count: 1, unread_count: before.unread_count - 1 });
    expect((await list(owner, '?state=read')).items.map((one) => one.id)).toEqual([id]);
    const all = await owner.patch('/notifications?all=true', { is_archived: true }, { headers });
    expect(all.data).toEqual({ updated_count: before.items.length, unread_count: 0 });
    expect((await list(owner, '?state=unread')).items).toEqual([]);
    const wrong = await owner.patch('/notifications', { ids: [id] }, { headers });
    expect([wrong.status, wrong.error.code]).toEqual([400, 'no_update_field']);
    expect((await owner.del('/notifications', { headers })).error.code).toBe('missing_target');
    const gone = await owner.del(`/notifications?ids=${id}`, { headers });
    expect(gone.data).toEqual({ deleted_count: 1, unread_count: 0 });
    expect((await owner.send('DELETE', '/notifications', { all: true }, { headers })).status).toBe(200);
    expect((await list(owner)).items).toEqual([]);
  });

  test('contain no names of resources that the person has lost since', async () => {
    const person = await join('Leaver');
    const { data } = await owner.post<{ id: string }>(`/workspaces/${workspace.id}/members`, {
      user_id: person.user.id,
    });
    await eventually(async () => expect((await list(person)).items).toHaveLength(1));
    await owner.del(`/workspaces/${workspace.id}/members/${data.id}`);
    const notified = await eventually(async () => {
      const answer = await list(person);
      expect(answer.items).toMatchObject([{ title: 'Owner added you', target: null }]);
      return answer;
    });
    expect(JSON.stringify(notified)).not.toContain('Plans');
  });
});

test('people who leave their default workspace have none, and name the workspace of what they create', async () => {
  const [leaver, stayer] = [await join('Leaver'), await join('Stayer')];
  const home = async () => (await leaver.get<Me>('/me')).data.default_workspace_id;
  const members = `/workspaces/${await home()}/members`;
  await leaver.post(members, { user_id: stayer.user.id, role: 'owner' });
  const { items } = (await leaver.get<List<WorkspaceMember>>(members)).data;
  const place = items.find(({ principal }) => principal.id === leaver.user.id);
  expect((await leaver.del(`${members}/${place?.id}`)).status).toBe(200);
  expect(await home()).toBeNull();
  const folder = await leaver.post('/resources', { type: 'folder', name: 'Nowhere' });
  const file = await leaver.post('/files', { name: 'nowhere.txt', content_base64: 'YQ==' });
  const item = await leaver.post('/work-items', { title: 'Nowhere' });
  const chat = await leaver.post('/chat-sessions', { title: 'Nowhere' });
  const talk = await leaver.post('/im/conversations', { type: 'group', name: 'Nowhere', member_ids: [stayer.user.id] });
  for (const { status, error } of [folder, file, item, chat, talk]) {
    expect([status, error.code, error.param]).toEqual([400, 'workspace_required', 'workspace_id']);
  }
});

test('a workspace is private if its default role is null, whatever the Org gives its members', async () => {
  const settings = { default_workspace_role: 'viewer' };
  const { data: open } = await owner.post<Org>('/orgs', { name: 'Open', settings });
  const create = (fields: object) =>
    owner.post<Workspace & { default_role: string | null }>('/workspaces', { name: 'New', org_id: open.id, ...fields });
  const roles = [{}, { default_role: null }, { default_role: 'editor' }].map(
    async (fields) => (await create(fields)).data.default_role,
  );
  expect(await Promise.all(roles)).toEqual(['viewer', null, 'editor']);
  // Elsewhere null means the same as absent, also within objects.
  const absent = { description: null, icon: null, slug: null, template_id: null, settings: { timezone: null } };
  const { status, data } = await create(absent);
  expect([status, data.default_role]).toEqual([201, 'viewer']);
});
