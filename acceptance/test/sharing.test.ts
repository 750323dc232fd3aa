import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Api, Reply } from '../src/client.js';
import { eventually, whileItLasts } from '../src/eventually.js';
import { newAddress, type Person, signUp, tokenOf } from '../src/people.js';
import type { List, Member, Org, Resource, SearchAnswer, Workspace, WorkspaceMember } from '../src/records.js';
import { standingSystem } from '../src/standing.js';
import type { System } from '../src/system.js';

interface Permission {
  readonly id: string;
  readonly principal: { readonly type: string; readonly id: string | null; readonly email: string | null };
  readonly role: string;
  readonly is_inherited: boolean;
  readonly source_resource_id: string | null;
  readonly source_name: string | null;
}

interface Granted {
  readonly permission?: Permission;
  readonly items?: readonly Permission[];
  readonly access_mode: string;
  readonly link?: { readonly token: string; readonly url: string; readonly role: string };
  readonly invites?: readonly { readonly email: string; readonly invite_url: string }[];
}

interface View extends List<Permission> {
  readonly access: { readonly role: string };
  readonly link: Granted['link'] | null;
  readonly pending_request_count: number;
}

/** The response of a share link to programs. */
interface Shared {
  readonly data: {
    readonly id: string;
    readonly content: string;
    readonly children: readonly { readonly id: string; readonly url: string }[];
  };
  readonly error?: { readonly code: string };
  readonly request_id: string;
}

interface AccessRequest {
  readonly id: string;
  readonly status: string;
  readonly role: string;
  readonly granted_role: string | null;
  readonly permission?: Permission;
}

let system: System;
let owner: Person;
let member: Person;
let stranger: Person;
let org: Org;
let workspace: Workspace;
let folder: Resource;
let document: Resource;

beforeAll(async () => {
  system = await standingSystem();
  [owner, stranger] = await Promise.all([signUp(system, 'Owner'), signUp(system, 'Stranger')]);
  org = (await owner.post<Org>('/orgs', { name: 'Sharing' })).data;
  member = await join('Member');
  workspace = (await owner.post<Workspace>('/workspaces', { name: 'Shared', org_id: org.id })).data;
  folder = await create({ type: 'folder', name: 'Folder', workspace_id: workspace.id });
  document = await create({ name: 'Wombat census', parent_id: folder.id, content: 'Burrows were counted.' });
  await eventually(async () => expect(await find(owner, 'wombat')).toEqual([document.id]));
});

async function join(name: string): Promise<Person> {
  const email = newAddress(name);
  const { data } = await owner.post<Member>(`/orgs/${org.id}/members`, { email, role: 'member' });
  return signUp(system, name, { email, invitation: tokenOf(data.invite_url) });
}

async function create(body: object): Promise<Resource> {
  return (await owner.post<Resource>('/resources', { type: 'document', ...body })).data;
}

const permissions = ({ id }: { id: string }, query = '') => `/resources/${id}/permissions${query}`;
const grant = (target: { id: string }, body: object) => owner.post<Granted>(permissions(target), body);

async function find(by: Api, query: string, headers: Record<string, string> = {}): Promise<string[]> {
  const body = { query, mode: 'keyword', workspace_ids: [workspace.id] };
  const reply = await by.post<SearchAnswer>('/search', body, { headers });
  return reply.status === 404 ? [] : reply.data.items.map(({ resource }) => resource.id);
}

function facts({ status, body }: Reply<unknown>): [number, string | undefined] {
  return [status, body.error?.code];
}

describe('a grant', () => {
  test('takes effect on the next request everywhere, and so does its end', async () => {
    expect(facts(await member.get(`/resources/${document.id}`))).toEqual([404, 'not_found']);
    expect(await find(member, 'wombat')).toEqual([]);
    const made = await grant(folder, { principal_id: member.user.id, role: 'commenter' });
    expect(made.status).toBe(201);
    expect(made.data).toMatchObject({
      access_mode: 'inherit',
      permission: { principal: { type: 'user', id: member.user.id, email: member.user.email }, role: 'commenter' },
    });
    expect(await find(member, 'wombat')).toEqual([document.id]);
    const read = await member.get<{ access: object; path: object[] }>(`/resources/${document.id}`);
    expect(read.data.access).toMatchObject({ role: 'commenter', source: 'ancestor', source_resource_id: folder.id });
    const list = await member.get<List<Resource>>(`/workspaces/${workspace.id}/resources`);
    expect([list.data.items.length, list.page.total]).toEqual([2, 2]);
    const view = await owner.get<View>(permissions(document));
    expect(view.data.items).toMatchObject([
      { principal: { id: member.user.id }, is_inherited: true, source_resource_id: folder.id, source_name: 'Folder' },
      { principal: { id: owner.user.id }, role: 'owner', source_resource_id: null, source_name: 'Shared' },
    ]);
    const inherited = await owner.del(permissions(document, `?principal_type=user&principal_id=${member.user.id}`));
    expect(facts(inherited)).toEqual([409, 'inherited_permission']);
    expect(inherited.error.details).toMatchObject({ source_resource_id: folder.id });
    const revoked = await owner.send<{ deleted: boolean }>('DELETE', permissions(folder), {
      permission_id: made.data.permission?.id,
    });
    expect(revoked.data).toEqual({ id: made.data.permission?.id, deleted: true });
    expect(facts(await member.get(`/resources/${document.id}`))).toEqual([404, 'not_found']);
    expect(await find(member, 'wombat')).toEqual([]);
    expect((await member.get(`/workspaces/${workspace.id}/resources`)).status).toBe(404);
  });

  test('of only a document is found on the next request, and restricting it changes that at once', async () => {
    const other = await join('Other');
    await grant(document, { email: other.user.email, role: 'viewer' });
    expect(await find(other, 'wombat')).toEqual([document.id]);
    await grant(folder, { principal_id: member.user.id, role: 'viewer' });
    expect(await find(member, 'wombat')).toEqual([document.id]);
    const { data } = await grant(document, { access_mode: 'restricted' });
    expect(data.access_mode).toBe('restricted');
    expect(await find(member, 'wombat')).toEqual([]);
    expect(await find(other, 'wombat')).toEqual([document.id]);
    await grant(document, { access_mode: 'inherit' });
    await owner.del(permissions(folder, `?principal_id=${member.user.id}`));
    await other.del(permissions(document, `?principal_type=user&principal_id=${other.user.id}`));
    expect(await find(other, 'wombat')).toEqual([]);
  });

  test('ends with the membership of the workspace, unless it is kept', async () => {
    const members = `/workspaces/${workspace.id}/members`;
    const leave = async (query: string) => {
      const person = await join('Leaver');
      const { data: place } = await owner.post<WorkspaceMember>(members, { user_id: person.user.id, role: 'guest' });
      await grant(document, { principal_id: person.user.id, role: 'viewer' });
      expect((await person.get(`/resources/${document.id}`)).status).toBe(200);
      expect((await owner.del(`${members}/${place.id}${query}`)).status).toBe(200);
      return (await person.get(`/resources/${document.id}`)).status;
    };
    expect(await leave('')).toBe(404);
    expect(await leave('?keep_grants=true')).toBe(200);
  });
});

describe('a link', () => {
  test('opens by header or by its own URL, for everyone who is signed in to the Org', async () => {
    const made = await grant(folder, { principal_type: 'link', role: 'viewer' });
    const { token = '', url = '' } = made.data.link ?? {};
    const headers = { 'X-Share-Link': token };
    const opened = await member.get<{ access: object }>(`/resources/${document.id}`, { headers });
    expect(opened.data.access).toMatchObject({ role: 'viewer', source: 'link' });
    expect(await find(member, 'wombat', headers)).toEqual([document.id]);
    const { pathname, search } = new URL(url);
    expect((await member.get(pathname + search)).status).toBe(200);
    expect(facts(await member.get(`/resources/${document.id}`))).toEqual([404, 'not_found']);
    expect(facts(await stranger.get(`/resources/${document.id}`, { headers }))).toEqual([404, 'not_found']);
    await grant(folder, { principal_type: 'link', role: 'viewer', audience: 'anyone' });
    expect((await stranger.get(`/resources/${document.id}`, { headers })).status).toBe(200);
    expect(facts(await stranger.patch(`/resources/${document.id}`, { name: 'Mine' }, { headers }))).toEqual([
      403,
      'insufficient_role',
    ]);
    await owner.del(permissions(folder, '?principal_type=link'));
    expect(facts(await stranger.get(`/resources/${document.id}`, { headers }))).toEqual([404, 'not_found']);
  });
});

describe('the pages of a link', () => {
  const BROWSER = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
  const open = (path: string, init: RequestInit = {}) =>
    fetch(new URL(path, system.baseUrl), { redirect: 'manual', headers: BROWSER, ...init });
  const share = async (to: Resource, more: object) =>
    (await grant(to, { principal_type: 'link', role: 'viewer', ...more })).data.link ?? {
      token: '',
      url: '',
      role: '',
    };

  test('show a folder with everything below it to anyone, and nothing restricted', async () => {
    const top = await create({ type: 'folder', name: 'Reef survey', workspace_id: workspace.id });
    const page = await create({ name: 'Corals', parent_id: top.id, content: 'Seen at **low tide**.' });
    const table = await create({ type: 'table', name: 'Counts', parent_id: top.id });
    const secret = await create({ name: 'Hidden cove', parent_id: top.id, content: 'Not for visitors.' });
    await grant(secret, { access_mode: 'restricted' });
    const { token, url } = await share(top, { audience: 'anyone' });

    const led = await open(new URL(url).pathname + new URL(url).search);
    expect([led.status, led.headers.get('location')]).toEqual([303, `/s/${token}/${top.id}`]);
    expect([led.headers.get('referrer-policy'), led.headers.get('vary')]).toEqual([
      'no-referrer',
      expect.stringContaining('Accept'),
    ]);
    const whole = await open(`/s/${token}/${top.id}`);
    expect(new URL(whole.headers.get('location') ?? '').pathname).toBe(`/s/${token}`);

    const answer = await open(`/s/${token}`);
    expect(answer.status).toBe(200);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'private, no-store',
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex, nofollow',
      'content-security-policy': expect.stringContaining("default-src 'none'"),
    });
    const html = await answer.text();
    for (const { name } of [top, page, table]) expect(html).toContain(name);
    expect(html).not.toContain(secret.name);
    const paths = [...html.matchAll(new RegExp(`href="(/s/${token}/[^"#]+)"`, 'g'))].map(([, path = '']) => path);
    expect(new Set(paths).size).toBe(2);
    for (const path of paths) expect((await open(path)).status).toBe(200);
    expect(await (await open(paths.find((path) => path.includes('corals')) ?? '')).text()).toContain(
      '<strong>low tide</strong>',
    );
    expect(await (await open(`/s/${token}?q=tide`)).text()).toContain('Corals');
    expect((await open(`/s/${token}/${secret.id}`)).status).toBe(404);
    expect((await open(`/s/${token}/${document.id}`)).status).toBe(404);
    expect((await open(`/s/${token}`, { method: 'POST' })).status).toBe(405);

    // A program gets JSON under the same address, by its own credential.
    const { pathname, search } = new URL(url);
    expect((await stranger.get<Resource>(pathname + search)).data.name).toBe('Reef survey');

    await owner.del(permissions(top, '?principal_type=link'));
    await eventually(async () => expect((await open(`/s/${token}`)).status).toBe(404));
    expect((await open(`/s/${token}`)).headers.get('cache-control')).toBe('private, no-store');
  });

  test('return JSON to programs, without a credential if the link is for everyone', async () => {
    const top = await create({ name: 'Tide tables', type: 'folder', workspace_id: workspace.id });
    const page = await create({ name: 'Springs', parent_id: top.id, content: 'High at **noon**.' });
    const table = await create({ name: 'Heights', type: 'table', parent_id: top.id });
    const secret = await create({ name: 'Hidden tide', parent_id: top.id });
    await owner.post(permissions(secret), { access_mode: 'restricted' });
    const { token, url } = await share(top, { audience: 'anyone' });
    const program = { headers: { Accept: 'application/json' } };
    const read = async (path: string, init: RequestInit = program) => {
      const answer = await open(path, init);
      return { answer, body: (await answer.json()) as Shared };
    };

    const { pathname, search } = new URL(url);
    for (const path of [pathname + search, `/s/${token}`, `/s/${token}/${top.id}`]) {
      const { answer, body } = await read(path);
      expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'private, no-store']);
      expect(answer.headers.get('vary')).toContain('Accept');
      expect(body).toMatchObject({ data: { id: top.id, type: 'folder', name: 'Tide tables' } });
      expect(body.request_id).toBe(answer.headers.get('x-request-id'));
      expect(body.data.children.map(({ id }) => id).sort()).toEqual([page.id, table.id].sort());
    }
    // A request without Accept counts as a program at the API's address, and as a browser at the page's.
    expect((await read(pathname + search, { headers: {} })).body.data.id).toBe(top.id);
    expect((await open(`/s/${token}`, { headers: {} })).headers.get('content-type')).toContain('text/html');

    const [child] = (await read(`/s/${token}`)).body.data.children.filter(({ id }) => id === page.id);
    const { data } = (await read(new URL(child?.url ?? '').pathname)).body;
    expect(data).toMatchObject({ id: page.id, content_format: 'markdown', path: [{ id: top.id }, { id: page.id }] });
    expect(data.content).toContain('High at **noon**.');
    const { body } = await read(`/s/${token}/${table.id}`);
    expect(body.data).toMatchObject({ id: table.id, type: 'table', table: { row_count: 0, offset: 0 } });
    const elsewhere = await read(`/api/v1/resources/${page.id}${search}`);
    expect(elsewhere.body.data.id).toBe(page.id);

    const hidden = await read(`/s/${token}/${secret.id}`);
    expect([hidden.answer.status, hidden.body.error?.code]).toEqual([404, 'not_found']);
    const missing = await read(`/api/v1/resources/${secret.id}${search}`);
    expect([missing.answer.status, missing.body.error?.code]).toEqual([401, 'missing_credentials']);
    await share(top, { audience: 'org' });
    for (const path of [pathname + search, `/s/${token}`]) {
      await eventually(async () => {
        const { answer, body: refused } = await read(path);
        expect([answer.status, refused.error?.code]).toEqual([401, 'missing_credentials']);
      });
    }
  });

  test('show that a link has expired', async () => {
    const page = await create({ name: 'For a moment', workspace_id: workspace.id, content: 'Soon gone.' });
    const token = await whileItLasts(async (expires_at) => {
      const made = await share(page, { audience: 'anyone', expires_at });
      expect((await open(`/s/${made.token}`)).status).toBe(200);
      return made.token;
    });
    await eventually(async () => expect((await open(`/s/${token}`)).status).toBe(404));
    expect(await (await open(`/s/${token}`)).text()).toMatch(/no longer here|There is no such page/);
  });

  test('ask members of the Org to sign in, and show strangers nothing', async () => {
    const page = await create({ name: 'For members', workspace_id: workspace.id, content: 'Among us.' });
    const { token } = await share(page, {});
    const path = `/s/${token}`;
    const anonymous = await open(path);
    expect([anonymous.status, anonymous.headers.get('location')]).toEqual([
      303,
      `/auth/sign-in?next=${encodeURIComponent(path)}`,
    ]);
    const as = (person: Person) => open(path, { headers: { ...BROWSER, Cookie: person.session.cookie } });
    const seen = await as(member);
    expect([seen.status, seen.headers.get('cache-control')]).toEqual([200, 'private, no-store']);
    expect(await seen.text()).toContain('Among us.');
    expect((await as(stranger)).status).toBe(404);
    expect((await open(path)).status).toBe(303);
    expect((await open('/s/abcdefghijklmnopqrstuvwxyz')).status).toBe(404);
  });
});

describe('an access request', () => {
  test('is created without access to the resource, and decided by its managers', async () => {
    const requests = `/resources/${document.id}/access-requests`;
    expect(facts(await stranger.post(requests, {}))).toEqual([404, 'not_found']);
    const asked = await member.post<AccessRequest>(requests, { role: 'editor', message: 'For the census' });
    expect([asked.status, asked.data.status]).toEqual([201, 'pending']);
    expect(asked.text).not.toContain('Wombat');
    expect((await member.post(requests, { role: 'editor' })).status).toBe(200);
    expect((await owner.get<View>(permissions(document))).data.pending_request_count).toBe(1);
    expect((await owner.get<List<AccessRequest>>(`${requests}?status=pending`)).data.items).toHaveLength(1);
    const path = `/access-requests/${asked.data.id}`;
    expect(facts(await member.patch(path, { status: 'approved' }))).toEqual([403, 'insufficient_role']);
    const decided = await owner.patch<AccessRequest>(path, { status: 'approved', role: 'viewer' });
    expect(decided.data).toMatchObject({
      status: 'approved',
      granted_role: 'viewer',
      permission: { role: 'viewer', principal: { id: member.user.id } },
    });
    expect((await member.get(`/resources/${document.id}`)).status).toBe(200);
    expect(facts(await owner.patch(path, { status: 'denied' }))).toEqual([409, 'request_not_pending']);
    expect(facts(await member.post(requests, {}))).toEqual([409, 'already_exists']);
    expect(facts(await owner.patch('/access-requests/req_abcdefghijklmnopqrstuvwxyz', {}))[0]).toBe(400);
    await owner.del(permissions(document, `?principal_id=${member.user.id}`));
  });
});

describe('an outsider', () => {
  test('is invited by address as a guest, and sees the shared content', async () => {
    const email = newAddress('guest');
    const made = await grant(document, { email, role: 'commenter', message: 'Have a look' });
    expect(made.data.permission?.principal).toMatchObject({ type: 'user', id: null, email });
    const guest = await signUp(system, 'Guest', { email, invitation: tokenOf(made.data.invites?.[0]?.invite_url) });
    await eventually(async () => {
      const { status, body } = await guest.get<{ access: object }>(`/resources/${document.id}`);
      expect([status, body.data?.access]).toMatchObject([200, { role: 'commenter', source: 'direct' }]);
    });
    expect(facts(await guest.get(`/resources/${folder.id}`))).toEqual([404, 'not_found']);
    const { data } = await owner.get<View>(permissions(document, '?include_inherited=false'));
    expect(data.items.filter(({ principal }) => principal.id === guest.user.id)).toHaveLength(1);
  });

  test('cannot be invited if the Org disables external sharing', async () => {
    await owner.patch(`/orgs/${org.id}`, { settings: { allow_external_sharing: false } });
    await eventually(async () => {
      const invited = await grant(document, { email: newAddress('nobody'), role: 'viewer' });
      expect(facts(invited)).toEqual([403, 'external_sharing_disabled']);
      const linked = await grant(document, { principal_type: 'link', role: 'viewer', audience: 'anyone' });
      expect(facts(linked)).toEqual([403, 'external_sharing_disabled']);
    });
    expect(facts(await grant(document, { principal_id: stranger.user.id, role: 'viewer' }))).toEqual([
      404,
      'not_found',
    ]);
    await owner.patch(`/orgs/${org.id}`, { settings: { allow_external_sharing: true } });
  });
});

describe('an invalid request', () => {
  test('is refused with all its errors at once, and grants nothing', async () => {
    const before = (await owner.get<View>(permissions(folder))).data.items;
    const grants = [
      { principal_type: 'user', principal_id: member.user.id, role: 'viewer' },
      { principal_type: 'link', role: 'manager' },
      { principal_type: 'workspace', role: 'viewer', expires_at: '2020-01-01T00:00:00Z' },
    ];
    const reply = await grant(folder, { grants });
    expect(facts(reply)).toEqual([400, 'validation_failed']);
    const params = (reply.error.details as readonly { param: string }[]).map(({ param }) => param);
    expect(params.sort()).toEqual(['grants[1].role', 'grants[2].expires_at', 'grants[2].principal_id']);
    expect(facts(await grant(folder, {}))).toEqual([400, 'validation_failed']);
    expect(facts(await owner.del(permissions(folder)))).toEqual([400, 'missing_target']);
    expect((await owner.get<View>(permissions(folder))).data.items).toEqual(before);
  });
});
