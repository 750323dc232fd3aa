import { beforeAll, expect, test } from '@jest/globals';
import { api } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import { newAddress, newKey, type Person, signIn, signUp, tokenOf } from '../src/people.js';
import type { List, Member, Org, Resource, Workspace } from '../src/records.js';
import { standingSystem } from '../src/standing.js';
import type { System } from '../src/system.js';

/** Tests the audit log that an Org's administrators can read. */

interface AuditEvent {
  readonly action: string;
  readonly outcome: string;
  readonly actor: { readonly type: string; readonly id: string };
  readonly person_id: string | null;
  readonly target: { readonly type: string; readonly id: string } | null;
  readonly reason: string | null;
  readonly client_network: string | null;
  readonly request_id: string | null;
  readonly details: Record<string, unknown>;
  readonly count: number;
}

let system: System;
let owner: Person;
let member: Person;
let org: Org;
let workspace: Workspace;

beforeAll(async () => {
  system = await standingSystem();
  owner = await signIn(system, system.owner);
  org = (await owner.post<Org>('/orgs', { name: 'Audited' })).data;
  const email = newAddress('audited');
  const { data } = await owner.post<Member>(`/orgs/${org.id}/members`, { email, role: 'member' });
  member = await signUp(system, 'Member', { email, invitation: tokenOf(data.invite_url) });
  workspace = (await owner.post<Workspace>('/workspaces', { name: 'Audited', org_id: org.id })).data;
  const principal = { principal: { type: 'user', id: member.user.id }, role: 'viewer' };
  await owner.post(`/workspaces/${workspace.id}/members`, { user_id: member.user.id, ...principal });
});

async function events(filter: string, by: Person = owner): Promise<readonly AuditEvent[]> {
  return (await by.get<List<AuditEvent>>(`/audit-events?org_id=${org.id}&${filter}`)).data.items;
}
const recorded = (filter: string, wanted: object) =>
  eventually(async () => expect(await events(filter)).toContainEqual(expect.objectContaining(wanted)));

test('members, permissions, publications and exports are recorded with their author and network', async () => {
  const made = await owner.post<Resource>('/resources', { type: 'document', name: 'A', workspace_id: workspace.id });
  const { id } = made.data;
  const grant = { principal_type: 'user', principal_id: member.user.id, role: 'editor' };
  expect((await owner.post(`/resources/${id}/permissions`, grant)).status).toBe(201);
  const published = await owner.post(`/resources/${id}/publish`, { access: 'public' });
  const exported = await owner.post(`/workspaces/${workspace.id}/archive`, { mode: 'export', format: 'native' });
  const by = { outcome: 'success', person_id: owner.user.id, client_network: '127.0.0.0/24' };
  await recorded('action=permission.granted', { ...by, target: { type: 'resource', id } });
  await recorded('action=org_member.', { action: 'org_member.added', outcome: 'success' });
  if (published.status < 300) await recorded('action=publication.', by);
  expect(exported.status).toBeLessThan(300);
  await recorded('action=export.created', { ...by, details: { format: 'native' } });
  expect((await events(`target_id=${id}`))[0]?.request_id).toMatch(/^req_/);
});

test('keys and their use are recorded, but never their secrets', async () => {
  const key = await newKey(owner, ['org:read', 'audit_event:read'], { org_id: org.id });
  const client = api(system, key.key);
  for (let i = 0; i < 5; i++) expect((await client.get('/audit-events')).status).toBe(200);
  await recorded(`target_id=${key.id}`, { action: 'api_key.used', person_id: owner.user.id, count: 1 });
  await owner.del(`/api-keys/${key.id}`);
  await recorded(`target_id=${key.id}`, { action: 'api_key.revoked', outcome: 'success' });
  await eventually(async () => expect((await client.get('/audit-events')).status).toBe(401));
  await recorded(`target_id=${key.id}`, { action: 'api_key.refused', outcome: 'failure', reason: 'revoked_key' });
  const all = await events(`target_id=${key.id}`);
  expect(all.filter(({ action }) => action === 'api_key.used')).toHaveLength(1);
  expect(JSON.stringify(all)).not.toContain(key.key.split('_')[2]);
});

test('sign-ins and failed ones of a member are recorded, repeated ones together', async () => {
  const { email } = member.user;
  for (let i = 0; i < 4; i++) await api(system).post('/auth/sign-in', { email, password: 'not this one' });
  await signIn(system, { email, password: member.password });
  const about = { person_id: member.user.id, client_network: '127.0.0.0/24' };
  await recorded('action=session.started', { ...about, outcome: 'success' });
  await recorded('action=sign_in.failed', { ...about, outcome: 'failure', reason: 'invalid_credentials' });
  expect((await events('action=sign_in.failed')).length).toBeLessThanOrEqual(2);
  expect(JSON.stringify(await events('action=sign_in.failed'))).not.toContain('not this one');
});

test('a denial is recorded with the refused endpoint', async () => {
  for (let i = 0; i < 5; i++) {
    expect((await member.patch(`/orgs/${org.id}`, { name: 'Mine' })).status).toBe(403);
  }
  await recorded('action=access.denied&outcome=denied', {
    actor: expect.objectContaining({ id: member.user.id }),
    reason: expect.any(String),
    details: { method: 'PATCH', route: '/api/v1/orgs/{org_id}' },
  });
  expect(await events(`action=access.denied&actor_id=${owner.user.id}`)).toEqual([]);
});

test('restricting a resource and letting it inherit access again are recorded', async () => {
  const body = { type: 'folder', name: 'Modes', workspace_id: workspace.id };
  const { id } = (await owner.post<Resource>('/resources', body)).data;
  const changes = `action=access_mode.changed&target_id=${id}`;
  const about = { outcome: 'success', person_id: owner.user.id, workspace_id: workspace.id };
  await owner.post(`/resources/${id}/permissions`, { access_mode: 'restricted' });
  await recorded(changes, { ...about, details: { access_mode: 'restricted' } });
  await owner.patch(`/resources/${id}`, { access_mode: 'restricted', description: 'Still' });
  await owner.patch(`/resources/${id}`, { access_mode: 'inherit', name: 'Open' });
  await recorded(changes, { ...about, details: { access_mode: 'inherit' } });
  expect(await events(changes)).toHaveLength(2);
});

test('an administrator who opens a restricted resource without a grant is recorded once', async () => {
  const colleague = await colleagueAs('admin');
  const editor = await colleagueAs('editor');
  const base = { type: 'document', workspace_id: workspace.id, access_mode: 'restricted' };
  const { data: pay } = await colleague.post<Resource>('/resources', { ...base, name: 'Pay' });
  const { data: plan } = await owner.post<Resource>('/resources', { ...base, name: 'Plan' });
  const grant = { principal_type: 'user', principal_id: colleague.user.id, role: 'viewer' };
  expect((await owner.post(`/resources/${plan.id}/permissions`, grant)).status).toBe(201);
  expect((await editor.get(`/resources/${pay.id}`)).status).toBe(404);
  expect((await colleague.get(`/resources/${plan.id}`)).status).toBe(200);
  const listed = await owner.get<List<Resource>>(`/workspaces/${workspace.id}/resources?limit=100`);
  expect(listed.data.items.map(({ id }) => id)).toContain(pay.id);
  for (const path of ['', '/content', '/comments', '/snapshots', '/permissions']) {
    expect((await owner.get(`/resources/${pay.id}${path}`)).status).toBe(200);
  }
  expect((await owner.patch(`/resources/${pay.id}`, { name: 'Wages' })).status).toBe(200);
  const { data: last } = await colleague.post<Resource>('/resources', { ...base, name: 'Last' });
  await owner.get(`/resources/${last.id}`);
  const all = await eventually(async () => {
    const found = await events('action=restricted_resource.accessed');
    expect(found.map(({ target }) => target?.id).sort()).toEqual([pay.id, last.id].sort());
    return found;
  });
  expect(all.find(({ target }) => target?.id === pay.id)).toMatchObject({
    outcome: 'success',
    actor: { type: 'user', id: owner.user.id },
    person_id: owner.user.id,
    credential: { type: 'session' },
    workspace_id: workspace.id,
    target: { type: 'resource', id: pay.id },
    client_network: '127.0.0.0/24',
    request_id: expect.stringMatching(/^req_/),
    details: { restricted_by: pay.id },
    count: 1,
  });
});

async function colleagueAs(role: string): Promise<Person> {
  const email = newAddress(role);
  const { data } = await owner.post<Member>(`/orgs/${org.id}/members`, { email, role: 'member' });
  const person = await signUp(system, role, { email, invitation: tokenOf(data.invite_url) });
  const joined = await owner.post(`/workspaces/${workspace.id}/members`, { user_id: person.user.id, role });
  expect(joined.status).toBe(201);
  return person;
}

test('is readable by administrators with the scope, in pages', async () => {
  const refused = await member.get(`/audit-events?org_id=${org.id}`);
  expect([refused.status, refused.error.code]).toEqual([403, 'org_admin_required']);
  const stranger = await signUp(system, 'Stranger');
  expect((await stranger.get(`/audit-events?org_id=${org.id}`)).status).toBe(404);
  const key = await newKey(owner, ['org:read'], { org_id: org.id });
  expect((await api(system, key.key).get('/audit-events')).error.code).toBe('insufficient_scope');
  const first = await owner.get<List<AuditEvent>>(`/audit-events?org_id=${org.id}&limit=1`);
  const cursor = encodeURIComponent(String(first.page.next_cursor));
  const second = await owner.get<List<AuditEvent>>(`/audit-events?org_id=${org.id}&limit=1&cursor=${cursor}`);
  expect(second.data.items).toHaveLength(1);
  expect(second.data.items).not.toEqual(first.data.items);
  expect((await owner.get(`/audit-events?org_id=${org.id}&action=Not%20one`)).status).toBe(400);
});

test('a person reads the entries of their Personal tenant', async () => {
  const person = await signUp(system, 'Alone');
  await newKey(person, ['org:read']);
  await eventually(async () => {
    const { items } = (await person.get<List<AuditEvent>>('/audit-events')).data;
    expect(items.map(({ action }) => action)).toEqual(
      expect.arrayContaining(['user.created', 'session.started', 'api_key.created']),
    );
  });
  expect((await owner.get<List<AuditEvent>>(`/audit-events?actor_id=${person.user.id}`)).data.items).toEqual([]);
});
