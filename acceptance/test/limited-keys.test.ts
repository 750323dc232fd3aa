import { beforeAll, expect, test } from '@jest/globals';
import { type Api, api } from '../src/client.js';
import { newKey, type Person, signUp } from '../src/people.js';
import type { ApiKey, Me, Org, Workspace } from '../src/records.js';
import { standingSystem } from '../src/standing.js';
import type { System } from '../src/system.js';

const LIMITED = /limited to certain workspaces/;

let system: System;
let everyScope: readonly string[];
let owner: Person;
let org: Org;
let own: Workspace;
let other: Workspace;
/** A client with a key that is limited to the workspace `own`. */
let limited: Api;
let limitedKey: ApiKey;
/** A template of the workspace `other`. */
let otherTemplate: string;

async function templateOf(by: Api, workspace: Workspace, more: object = {}) {
  const body = { name: `Of ${workspace.name}`, source_workspace_id: workspace.id, ...more };
  return by.post<{ readonly id: string }>('/workspace-templates', body);
}

beforeAll(async () => {
  system = await standingSystem();
  everyScope = (await api(system, system.owner.apiKey).get<{ scopes: string[] }>('/capabilities')).data.scopes;
  owner = await signUp(system, 'Owner');
  org = (await owner.post<Org>('/orgs', { name: 'Limited' })).data;
  const workspace = async (name: string) => (await owner.post<Workspace>('/workspaces', { name, org_id: org.id })).data;
  own = await workspace('Own');
  other = await workspace('Other');
  for (const { id } of [own, other]) {
    await owner.post('/resources', { type: 'document', name: 'Words', workspace_id: id, content: 'words' });
  }
  otherTemplate = (await templateOf(owner, other)).data.id;
  const key = await newKey(owner, everyScope, { org_id: org.id, workspace_ids: [own.id] });
  limitedKey = key;
  limited = api(system, key.key);
});

test('a key limited to workspaces sees the name of its Org, and only its own workspaces', async () => {
  const { data } = await limited.get<Me>('/me');
  expect(data.tenant).toMatchObject({ type: 'org', org_id: org.id, name: 'Limited' });
  expect(data.default_workspace_id).toBeNull();
  const { data: list } = await limited.get<{ items: Workspace[] }>('/workspaces');
  expect(list.items.map(({ id }) => id)).toEqual([own.id]);
});

test('a key is limited by a list with items or by none', async () => {
  for (const field of ['workspace_ids', 'ip_allowlist']) {
    const body = { name: 'Key', scopes: ['org:read'], org_id: org.id };
    const { status, error } = await owner.post('/api-keys', { ...body, [field]: [] });
    expect([status, error.code, error.param]).toEqual([400, 'invalid_value', field]);
    expect((await owner.post('/api-keys', { ...body, [field]: null })).status).toBe(201);
  }
});

test('nothing of the Org is read or changed, whatever the role of the person behind the key', async () => {
  const attempts = [
    limited.get('/orgs'),
    limited.get(`/orgs/${org.id}`),
    limited.patch(`/orgs/${org.id}`, { name: 'Mine' }),
    limited.get(`/orgs/${org.id}/members`),
    limited.post(`/orgs/${org.id}/members`, { email: 'mallory@example.com', role: 'owner' }),
    limited.post('/workspaces', { name: 'Third' }),
  ];
  for (const { status, error } of await Promise.all(attempts)) {
    expect([status, error.code, error.message]).toEqual([403, 'tenant_boundary', expect.stringMatching(LIMITED)]);
  }
  expect((await owner.get<Org>(`/orgs/${org.id}`)).data).toMatchObject({ name: 'Limited', member_count: 1 });
});

test('templates of other workspaces are neither listed nor read nor deleted', async () => {
  const { data } = await limited.get<{ items: { id: string; scope: string }[] }>('/workspace-templates');
  expect(data.items.filter(({ scope }) => scope !== 'system')).toEqual([]);
  for (const reply of [
    await limited.get(`/workspace-templates/${otherTemplate}`),
    await limited.del(`/workspace-templates/${otherTemplate}`),
    await templateOf(limited, other),
    await templateOf(limited, own, { scope: 'org' }),
  ]) {
    expect([reply.status, reply.error.code]).toEqual([403, 'tenant_boundary']);
  }
  expect((await owner.get(`/workspace-templates/${otherTemplate}`)).status).toBe(200);

  const { data: made } = await templateOf(limited, own);
  const after = await limited.get<{ items: { id: string; scope: string }[] }>('/workspace-templates');
  expect(after.data.items.filter(({ scope }) => scope !== 'system').map(({ id }) => id)).toEqual([made.id]);
  expect((await limited.del(`/workspace-templates/${made.id}`)).status).toBe(200);
});

test('keys with more access are neither listed nor revoked, and none is created', async () => {
  const wide = await newKey(owner, ['org:read'], { org_id: org.id });
  const both = await newKey(owner, ['org:read'], { org_id: org.id, workspace_ids: [own.id, other.id] });
  const made = await newKey(limited, ['resource:read']);
  expect(made.workspace_ids).toEqual([own.id]);
  const { data, page } = await limited.get<{ items: ApiKey[] }>('/api-keys');
  expect(data.items.map(({ id }) => id)).toEqual([made.id, limitedKey.id]);
  expect(page?.total).toBe(2);
  for (const { id } of [wide, both]) {
    const { status, error } = await limited.del(`/api-keys/${id}`);
    expect([status, error.code, error.message]).toEqual([403, 'tenant_boundary', expect.stringMatching(LIMITED)]);
  }
  const body = { name: 'Key', scopes: ['org:read'], workspace_ids: [other.id] };
  expect((await limited.post('/api-keys', body)).error.code).toBe('tenant_boundary');
  expect((await limited.del(`/api-keys/${made.id}`)).status).toBe(200);
});

test('sums and searches cover its workspaces only', async () => {
  const { data } = await limited.get<{ by_workspace: { workspace_id: string }[] }>('/storage/usage');
  expect(data.by_workspace.map(({ workspace_id }) => workspace_id)).toEqual([own.id]);
  const { data: found } = await limited.post<{ items: { resource: { workspace_id: string } }[] }>('/search', {
    query: 'words',
    mode: 'keyword',
  });
  expect(JSON.stringify(found)).not.toContain(other.id);
});

test('the capabilities list what such a key may call', async () => {
  interface Capabilities {
    readonly endpoints: readonly { readonly method: string; readonly path: string }[];
  }
  const paths = (await limited.get<Capabilities>('/capabilities')).data.endpoints.map(({ path }) => path);
  expect(paths).toContain('/api/v1/workspaces/{workspace_id}');
  expect(paths.filter((path) => path.startsWith('/api/v1/orgs'))).toEqual([]);
});

test('a Personal key that addresses an Org gets advice', async () => {
  const personal = api(system, (await newKey(owner, everyScope)).key);
  const { data: made } = await personal.post<Org>('/orgs', { name: 'Next' });
  const attempts = [
    personal.get(`/orgs/${made.id}`),
    personal.post(`/orgs/${made.id}/members`, { email: 'ada@example.com' }),
    personal.post('/api-keys', { name: 'Key', scopes: ['org:read'], org_id: made.id }),
  ];
  for (const { status, error } of await Promise.all(attempts)) {
    expect([status, error.code]).toEqual([403, 'tenant_boundary']);
    expect(error.message).toBe('Personal keys cannot access an Org. Sign in and create a key of type org.');
  }
});

test('an empty list of workspaces or networks is refused: it would mean no limit', async () => {
  for (const limit of ['workspace_ids', 'ip_allowlist']) {
    for (const by of [owner, limited]) {
      const body = { name: 'Empty', scopes: ['resource:read'], org_id: org.id, [limit]: [] };
      const { status, error } = await by.post('/api-keys', body);
      expect([status, error.code, error.param]).toEqual([400, 'invalid_value', limit]);
    }
    const { data } = await owner.post<ApiKey>('/api-keys', { name: 'All', scopes: ['resource:read'], [limit]: null });
    expect(data).toMatchObject({ workspace_ids: null, ip_allowlist: [] });
  }
});
