import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { api, type Reply } from '../src/client.js';
import { openFeed } from '../src/event-feed.js';
import { eventually } from '../src/eventually.js';
import { newAddress, newKey, type Person, signUp, tokenOf } from '../src/people.js';
import type { List, Member, Org, Resource, SearchAnswer, Workspace } from '../src/records.js';
import { standingSystem } from '../src/standing.js';
import type { System } from '../src/system.js';

/** Groups of an Org: who administers and sees them, and what they give to whom for how long. */

interface Group {
  readonly id: string;
  readonly name: string;
  readonly member_count: number;
  readonly version: number;
}

interface Notification {
  readonly id: string;
  readonly target: { readonly id: string } | null;
}

interface Granted {
  readonly items: readonly {
    readonly principal: { readonly type: string; readonly id: string; readonly name: string };
  }[];
}

let system: System;
let owner: Person;
let engineer: Person;
let engineerPlace: Member;
let other: Person;
let stranger: Person;
let org: Org;
let workspace: Workspace;

beforeAll(async () => {
  system = await standingSystem();
  [owner, stranger] = await Promise.all([signUp(system, 'Owner'), signUp(system, 'Stranger')]);
  org = (await owner.post<Org>('/orgs', { name: 'Groups' })).data;
  ({ person: engineer, member: engineerPlace } = await join('Engineer'));
  ({ person: other } = await join('Other'));
  workspace = (await owner.post<Workspace>('/workspaces', { name: 'Works', org_id: org.id })).data;
});

async function join(name: string, role = 'member') {
  const email = newAddress(name);
  const { data: member } = await owner.post<Member>(`/orgs/${org.id}/members`, { email, role });
  return { person: await signUp(system, name, { email, invitation: tokenOf(member.invite_url) }), member };
}

const groupPath = (group: { readonly id: string }, rest = '') => `/orgs/${org.id}/groups/${group.id}${rest}`;
const placePath = (group: { readonly id: string }, { user }: Pick<Person, 'user'>) =>
  groupPath(group, `/members/${user.id}`);

async function newGroup(...people: readonly Person[]): Promise<Group> {
  const { data } = await owner.post<Group>(`/orgs/${org.id}/groups`, { name: `Group ${randomUUID()}` });
  for (const person of people) expect((await owner.send('PUT', placePath(data, person))).status).toBe(201);
  return data;
}

/** Creates a document that is restricted to the owner. */
async function secret(name = 'Secret'): Promise<Resource> {
  const body = { type: 'document', name, workspace_id: workspace.id, content: `What ${name} says.` };
  return (await owner.post<Resource>('/resources', body)).data;
}

const share = (by: Person, resource: Resource, group: { readonly id: string }, role = 'viewer') =>
  by.post(`/resources/${resource.id}/permissions`, { principal_type: 'group', principal_id: group.id, role });
const statusOf = async (by: Person, resource: Resource) => (await by.get(`/resources/${resource.id}`)).status;
const codeOf = ({ status, error }: { status: number; error?: { code: string } }) => `${status} ${error?.code ?? ''}`;

/** Checks what holds with the answer; in a mesh, processes hear of a change some milliseconds later. */
async function atOnce(check: () => Promise<void>): Promise<void> {
  if (system.mode === 'mesh') await eventually(check, 3000);
  else await check();
}

describe('a group', () => {
  test('is created, read, renamed and deleted by administrators, and seen by members', async () => {
    const name = `Engineers ${randomUUID()}`;
    const made = await owner.post<Group>(`/orgs/${org.id}/groups`, { name, description: 'Who builds.' });
    expect(made.status).toBe(201);
    expect(made.data).toMatchObject({ name, description: 'Who builds.', org_id: org.id, member_count: 0 });
    expect(codeOf(await owner.post(`/orgs/${org.id}/groups`, { name: name.toUpperCase() }))).toBe('409 already_exists');
    expect(codeOf(await owner.post(`/orgs/${org.id}/groups`, { name: '  ' }))).toBe('400 missing_field');
    const renamed = await owner.patch<Group>(groupPath(made.data), { description: null }, ifMatch(made));
    expect(renamed.data).toMatchObject({ name, description: null, version: 2 });
    expect(codeOf(await owner.patch(groupPath(made.data), { name: 'Late' }, ifMatch(made)))).toBe(
      '409 version_conflict',
    );
    expect((await engineer.get<Group>(groupPath(made.data))).data).toMatchObject({ name });
    const listed = await engineer.get<List<Group>>(`/orgs/${org.id}/groups?q=${encodeURIComponent(name)}&limit=1`);
    expect([listed.data.items.map(({ id }) => id), listed.page.total]).toEqual([[made.data.id], 1]);
    expect((await owner.del(groupPath(made.data))).data).toEqual({ id: made.data.id, deleted: true });
    expect(codeOf(await owner.get(groupPath(made.data)))).toBe('404 not_found');
  });

  const ifMatch = ({ headers }: Pick<Reply<unknown>, 'headers'>) => ({
    headers: { 'if-match': headers.get('etag') ?? '' },
  });

  test('is listed as a preview in the capabilities', async () => {
    interface Capabilities {
      readonly endpoints: readonly { readonly path: string; readonly status: string }[];
    }
    const { data } = await owner.get<Capabilities>('/capabilities');
    const listed = data.endpoints.filter(({ path }) => path.startsWith('/api/v1/orgs/{org_id}/groups'));
    expect(listed).toHaveLength(8);
    expect([...new Set(listed.map(({ status }) => status))]).toEqual(['preview']);
  });

  test('changes are recorded, and streamed to members of the Org only', async () => {
    const [mine, theirs] = [
      await openFeed(system, engineer.session, '', { 'x-tenant': org.id }),
      await openFeed(system, stranger.session),
    ];
    const group = await newGroup(engineer);
    await owner.del(placePath(group, engineer));
    await owner.del(groupPath(group));
    await mine.sees('group.deleted');
    const about = mine.events().filter(({ data }) => data.group_id === group.id);
    expect(about.map(({ type }) => type)).toEqual([
      'group.created',
      'group_member.added',
      'group_member.removed',
      'group.deleted',
    ]);
    expect(about[1]).toMatchObject({
      actor: { id: owner.user.id },
      data: { user_id: engineer.user.id, org_id: org.id },
    });
    expect(theirs.events()).toEqual([]);
    await Promise.all([mine.close(), theirs.close()]);
    await eventually(async () => {
      const path = `/audit-events?target_id=${group.id}`;
      const { data } = await owner.get<List<{ action: string }>>(path, { headers: { 'x-tenant': org.id } });
      const actions = data.items.map(({ action }) => action).sort();
      expect(actions).toEqual(['group.created', 'group.deleted', 'group_member.added', 'group_member.removed']);
    });
  });
});

describe('what is shared with a group', () => {
  test('is read, listed, found and announced to its members, and ends with their place', async () => {
    const word = `wombat${randomUUID().slice(0, 8)}`;
    const page = await secret(word);
    const group = await newGroup(engineer);
    const found = async () =>
      (await engineer.post<SearchAnswer>('/search', { query: word, mode: 'keyword' }, tenant())).data.items.length;
    expect(await statusOf(engineer, page)).toBe(404);
    expect((await share(owner, page, group, 'editor')).status).toBe(201);
    await atOnce(async () => expect(await statusOf(engineer, page)).toBe(200));
    expect(await statusOf(other, page)).toBe(404);
    const listed = await engineer.get<List<Resource>>(`/workspaces/${workspace.id}/resources`);
    expect(listed.data.items.map(({ id }) => id)).toEqual([page.id]);
    await eventually(async () => expect(await found()).toBe(1));
    const told = async () =>
      (await engineer.get<List<Notification>>('/notifications', tenant())).data.items.filter(
        ({ target }) => target?.id === page.id,
      );
    await owner.post(`/resources/${page.id}/comments`, { body: 'Look', mentions: [engineer.user.id] });
    await eventually(async () => expect(await told()).toHaveLength(1));
    const feed = await openFeed(system, engineer.session, `?workspace_id=${workspace.id}`);
    await owner.patch(`/resources/${page.id}`, { name: `${word} 2` });
    await feed.sees('resource.updated');

    expect((await owner.del(placePath(group, engineer))).status).toBe(200);
    await atOnce(async () => expect(await statusOf(engineer, page)).toBe(404));
    expect(codeOf(await engineer.patch(`/resources/${page.id}`, { name: 'Mine' }))).toBe('404 not_found');
    expect((await engineer.get(`/workspaces/${workspace.id}/resources`)).status).toBe(404);
    expect(await found()).toBe(0);
    expect(await told()).toEqual([]);
    expect((await engineer.get('/notifications', tenant())).text).not.toContain(word);
    const before = feed.events().length;
    await owner.patch(`/resources/${page.id}`, { name: `${word} 3` });
    await feed.ended;
    expect(feed.events()).toHaveLength(before);
  }, 60_000);

  const tenant = () => ({ headers: { 'x-tenant': org.id } });

  test('ends with the group, and with the membership of the Org, for good', async () => {
    const page = await secret();
    const [group, second] = [await newGroup(engineer), await newGroup()];
    const { person: leaver, member } = await join('Leaver');
    await owner.send('PUT', placePath(second, leaver));
    await share(owner, page, group);
    await share(owner, page, second);
    await atOnce(async () =>
      expect([await statusOf(engineer, page), await statusOf(leaver, page)]).toEqual([200, 200]),
    );
    await owner.del(groupPath(group));
    await atOnce(async () => expect(await statusOf(engineer, page)).toBe(404));
    const { data } = await owner.get<Granted>(`/resources/${page.id}/permissions?include_inherited=false`);
    expect(data.items.map(({ principal }) => [principal.type, principal.id, principal.name])).toEqual([
      ['group', second.id, second.name],
    ]);
    expect(codeOf(await share(owner, page, group))).toBe('404 not_found');
    await owner.del(`/orgs/${org.id}/members/${member.id}`);
    await atOnce(async () => expect(await statusOf(leaver, page)).toBe(404));
    const { data: again } = await owner.post<Member>(`/orgs/${org.id}/members`, { user_id: leaver.user.id });
    await leaver.post('/auth/accept-invitation', { token: tokenOf(again.invite_url) });
    await eventually(async () => expect((await leaver.get(`/orgs/${org.id}`)).status).toBe(200));
    expect(await statusOf(leaver, page)).toBe(404);
  });

  test('is no longer written to by somebody whose place ends at the same time', async () => {
    const page = await secret();
    for (let i = 0; i < 5; i++) {
      const group = await newGroup(engineer);
      await share(owner, page, group, 'editor');
      await atOnce(async () => expect(await statusOf(engineer, page)).toBe(200));
      const writes = Array.from({ length: 4 }, (_, n) =>
        engineer.patch(`/resources/${page.id}`, { name: `W ${i} ${n}` }),
      );
      const [removed, ...written] = await Promise.all([owner.del(placePath(group, engineer)), ...writes]);
      expect(removed.status).toBe(200);
      for (const { status } of written) expect([200, 404]).toContain(status);
      await atOnce(async () => expect(await statusOf(engineer, page)).toBe(404));
      expect((await engineer.patch(`/resources/${page.id}`, { name: 'After' })).status).toBe(404);
    }
  });

  test('is suspended with the person', async () => {
    const page = await secret();
    await share(owner, page, await newGroup(engineer));
    await atOnce(async () => expect(await statusOf(engineer, page)).toBe(200));
    const path = `/orgs/${org.id}/members/${engineerPlace.id}`;
    await owner.patch(path, { status: 'suspended' });
    await atOnce(async () => expect(await statusOf(engineer, page)).toBe(404));
    await owner.patch(path, { status: 'active' });
    await atOnce(async () => expect(await statusOf(engineer, page)).toBe(200));
  });

  test('stays shared with whom it is shared otherwise, at the highest role', async () => {
    const page = await secret();
    const group = await newGroup(engineer);
    const own = { principal_type: 'user', principal_id: engineer.user.id, role: 'editor' };
    await owner.post(`/resources/${page.id}/permissions`, own);
    await share(owner, page, group, 'commenter');
    const role = async () =>
      (await engineer.get<{ access: { role: string } }>(`/resources/${page.id}`)).data.access.role;
    expect(await role()).toBe('editor');
    await share(owner, page, group, 'manager');
    expect(await role()).toBe('manager');
    await owner.del(groupPath(group));
    await atOnce(async () => expect(await role()).toBe('editor'));
  });
});

describe('nobody', () => {
  test('who does not administer the Org changes groups or adds themselves', async () => {
    const group = await newGroup(engineer);
    expect(codeOf(await other.send('PUT', placePath(group, other)))).toBe('403 insufficient_role');
    expect(codeOf(await other.del(placePath(group, engineer)))).toBe('403 insufficient_role');
    expect(codeOf(await other.patch(groupPath(group), { name: 'Mine' }))).toBe('403 insufficient_role');
    expect(codeOf(await other.del(groupPath(group)))).toBe('403 insufficient_role');
    expect(codeOf(await other.post(`/orgs/${org.id}/groups`, { name: 'Mine' }))).toBe('403 insufficient_role');
    for (const [method, path] of [
      ['GET', groupPath(group)],
      ['GET', groupPath(group, '/members')],
      ['PUT', placePath(group, stranger)],
      ['DELETE', groupPath(group)],
    ] as const) {
      expect(codeOf(await stranger.send(method, path))).toBe('404 not_found');
    }
    expect((await engineer.del(placePath(group, engineer))).status).toBe(200);
    expect((await owner.get<Group>(groupPath(group))).data.member_count).toBe(0);
  });

  test('from outside of the Org comes in through a group, nor does a group of another Org', async () => {
    const page = await secret();
    const group = await newGroup();
    expect(codeOf(await owner.send('PUT', placePath(group, stranger)))).toBe('404 not_found');
    expect(codeOf(await owner.send('PUT', groupPath(group, `/members/${randomUUID()}`)))).toBe('404 not_found');
    const { data: abroad } = await stranger.post<Org>('/orgs', { name: 'Abroad' });
    const { data: foreign } = await stranger.post<Group>(`/orgs/${abroad.id}/groups`, { name: 'Foreign' });
    await stranger.send('PUT', `/orgs/${abroad.id}/groups/${foreign.id}/members/${stranger.user.id}`);
    expect(codeOf(await share(owner, page, foreign))).toBe('404 not_found');
    expect(codeOf(await owner.get(groupPath(foreign)))).toBe('404 not_found');
    expect(codeOf(await owner.send('PUT', placePath(foreign, owner)))).toBe('404 not_found');
    expect(codeOf(await owner.get(`/orgs/${abroad.id}/groups/${group.id}`))).toBe('404 not_found');
    expect(codeOf(await stranger.get(`/orgs/${abroad.id}/groups/${group.id}`))).toBe('404 not_found');
    expect(await statusOf(stranger, page)).toBe(404);
    const { data: home } = await owner.get<{ default_workspace_id: string }>('/me');
    const own = { type: 'document', name: 'Own', workspace_id: home.default_workspace_id };
    const { data: personal } = await owner.post<Resource>('/resources', own);
    expect(codeOf(await share(owner, personal, group))).toBe('404 not_found');
  });

  test('administers groups by a key for some workspaces, or without the scope', async () => {
    const group = await newGroup();
    const scopes = ['org_member:read', 'org_member:write'];
    const limited = await newKey(owner, scopes, { org_id: org.id, workspace_ids: [workspace.id] });
    const few = await newKey(owner, ['org_member:read'], { org_id: org.id });
    const whole = await newKey(owner, scopes, { org_id: org.id });
    const put = ({ key }: { readonly key: string }) => api(system, key).send('PUT', placePath(group, engineer));
    expect(codeOf(await put(limited))).toBe('403 tenant_boundary');
    expect(codeOf(await api(system, limited.key).get(groupPath(group)))).toBe('403 tenant_boundary');
    expect(codeOf(await put(few))).toBe('403 insufficient_scope');
    expect((await put(whole)).status).toBe(201);
    expect((await put(whole)).status).toBe(200);
  });

  test('shares above their own role or asks for a group that does not fit', async () => {
    const page = await secret();
    const group = await newGroup(other);
    await share(owner, page, await newGroup(engineer), 'manager');
    expect(codeOf(await share(engineer, page, group, 'owner'))).toBe('403 role_escalation');
    expect((await share(engineer, page, group, 'editor')).status).toBe(201);
    await atOnce(async () => expect(await statusOf(other, page)).toBe(200));
    expect(codeOf(await share(other, page, group, 'viewer'))).toBe('403 insufficient_role');
    const path = `/resources/${page.id}/permissions`;
    expect(codeOf(await owner.post(path, { principal_type: 'group', role: 'viewer' }))).toBe('400 missing_field');
    const both = { principal_type: 'group', email: 'a@example.com', role: 'viewer' };
    expect((await owner.post(path, both)).status).toBe(400);
    const query = `?principal_type=group&principal_id=${group.id}`;
    expect((await owner.del(path + query)).status).toBe(200);
    await atOnce(async () => expect(await statusOf(other, page)).toBe(404));
  });
});
