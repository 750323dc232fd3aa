import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Api, api } from '../src/client.js';
import { type Issuer, startIssuer } from '../src/issuer.js';
import { newKey, type Person, signIn } from '../src/people.js';
import type { ApiKey, Content, Fault, List, Me, Org, Resource, Workspace } from '../src/records.js';
import { type System, startSystem } from '../src/system.js';

let issuer: Issuer;
let system: System;
/** The owner's first key, with every scope. */
let by: Api;
let workspace: Workspace;
let list: string;

beforeAll(async () => {
  issuer = await startIssuer('commonplace');
  const issuers = [{ issuer: issuer.url, audience: 'commonplace', create_users: true }];
  system = await startSystem({ COMMONPLACE_OIDC_ISSUERS: JSON.stringify(issuers) });
  by = api(system, system.owner.apiKey);
  workspace = (await by.post<Workspace>('/workspaces', { name: 'Conventions' })).data;
  list = `/workspaces/${workspace.id}/resources`;
}, 90_000);

afterAll(async () => {
  await system?.stop();
  await issuer?.stop();
}, 60_000);

async function newDocument(name = 'Document', content = 'Words'): Promise<Resource> {
  return (await by.post<Resource>('/resources', { type: 'document', name, workspace_id: workspace.id, content })).data;
}

const REQUEST_ID = /^req_[a-z2-7]{26}$/;

describe('the envelope', () => {
  test('a record is data itself, with a request id in body and header', async () => {
    const { status, body, headers } = await by.get('/me');
    expect(status).toBe(200);
    expect(Object.keys(body).sort()).toEqual(['data', 'request_id']);
    expect(body.request_id).toMatch(REQUEST_ID);
    expect(headers.get('x-request-id')).toBe(body.request_id);
    expect(headers.get('content-type')).toMatch(/^application\/json/);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });

  test('a list is data.items with a page beside it', async () => {
    const { body } = await by.get<List<unknown>>('/workspaces');
    expect(Object.keys(body).sort()).toEqual(['data', 'page', 'request_id']);
    expect(Array.isArray(body.data?.items)).toBe(true);
    const keys = ['has_more', 'limit', 'next_cursor', 'next_offset', 'offset', 'total', 'total_is_estimate'];
    expect(Object.keys(body.page ?? {}).sort()).toEqual(keys);
  });

  test('what is known and empty is null, and times are UTC with milliseconds', async () => {
    const { data } = await by.post('/resources', { type: 'folder', name: 'Plain', workspace_id: workspace.id });
    expect(data).toMatchObject({ parent_id: null, icon: null, description: null, external_id: null, trashed_at: null });
    expect(data.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(data.created_by).toMatchObject({ type: 'api_key' });
  });

  test('a creation answers 201, a deletion 200 with the id', async () => {
    const created = await by.post<Resource>('/resources', { type: 'folder', name: 'Gone', workspace_id: workspace.id });
    expect(created.status).toBe(201);
    const deleted = await by.del(`/resources/${created.data.id}`);
    expect(deleted.status).toBe(200);
    expect(deleted.data).toMatchObject({ id: created.data.id, deleted: true });
  });

  test('every request has an id of its own', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, async () => (await by.get('/me')).body.request_id));
    expect(new Set(ids).size).toBe(20);
  });
});

describe('errors', () => {
  test('say type, code, all fields at fault, and where to read on', async () => {
    const { status, body, headers } = await by.post('/resources', { type: 'spreadsheet' });
    expect(status).toBe(400);
    expect(Object.keys(body).sort()).toEqual(['error', 'request_id']);
    expect(body.error).toMatchObject({
      type: 'invalid_request',
      code: 'validation_failed',
      param: null,
      retryable: false,
    });
    const faults = body.error?.details as readonly Fault[];
    expect(faults.map(({ param, code }) => `${param} ${code}`).sort()).toEqual([
      'name missing_field',
      'type invalid_value',
    ]);
    expect(body.error?.doc_url).toBe(`${system.baseUrl}/docs/errors#validation_failed`);
    expect(body.request_id).toBe(headers.get('x-request-id'));
    expect(headers.get('cache-control')).toBe('no-store');
  });

  test('one field at fault is named at the top', async () => {
    const { error } = await by.post('/resources', { type: 'folder', name: 'x', workspace_id: workspace.id, colour: 1 });
    expect(error).toMatchObject({ code: 'unknown_field', param: 'colour' });
  });

  test('are RFC 9457 problems where that is asked for', async () => {
    const { status, headers, text } = await by.get(`/resources/${randomUUID()}`, {
      headers: { Accept: 'application/problem+json' },
    });
    expect(status).toBe(404);
    expect(headers.get('content-type')).toBe('application/problem+json');
    expect(JSON.parse(text)).toMatchObject({
      type: `${system.baseUrl}/docs/errors#not_found`,
      title: expect.any(String),
      status: 404,
      detail: expect.any(String),
      instance: expect.any(String),
      code: 'not_found',
      request_id: headers.get('x-request-id'),
      errors: [],
    });
  });

  test('a path that there is not is 404 route_not_found, once there is a credential', async () => {
    const reply = await by.get('/nothing/here');
    expect([reply.status, reply.error.code, reply.headers.get('allow')]).toEqual([404, 'route_not_found', null]);
    expect((await api(system).get('/nothing/here')).error.code).toBe('missing_credentials');
    expect((await api(system).get('/api/v2/me')).error.code).toBe('route_not_found');
  });

  test('a method that a path lacks is 404 with Allow', async () => {
    const reply = await by.send('PUT', `/resources/${randomUUID()}`, {});
    expect([reply.status, reply.error.code]).toEqual([404, 'route_not_found']);
    const allow = reply.headers.get('allow')?.split(/,\s*/).sort();
    expect(allow).toEqual(['DELETE', 'GET', 'HEAD', 'PATCH']);
  });
});

describe('HTTP', () => {
  test('a trailing slash is the same route', async () => {
    expect((await by.get('/me/')).status).toBe(200);
    expect((await by.get(`${list}/?limit=1`)).status).toBe(200);
    expect((await by.post('/search/', { query: 'words' })).status).toBe(200);
  });

  test('HEAD answers as GET does, without the body', async () => {
    const document = await newDocument();
    const get = await by.get(`/resources/${document.id}`);
    const head = await by.send('HEAD', `/resources/${document.id}`);
    expect([head.status, head.text]).toEqual([200, '']);
    for (const name of ['etag', 'content-type', 'content-length', 'cache-control']) {
      expect([name, head.headers.get(name)]).toEqual([name, get.headers.get(name)]);
    }
    expect((await by.send('HEAD', `/resources/${randomUUID()}`)).status).toBe(404);
    expect((await api(system).send('HEAD', '/me')).status).toBe(401);
  });

  test('OPTIONS answers a browser of any origin, without a credential and without cookies', async () => {
    const { status, headers, text } = await api(system).send('OPTIONS', `/resources/${randomUUID()}`, undefined, {
      headers: {
        Origin: 'https://elsewhere.example',
        'Access-Control-Request-Method': 'PATCH',
        'Access-Control-Request-Headers': 'authorization,content-type,if-match,idempotency-key',
      },
    });
    expect([status >= 200 && status < 300, text]).toEqual([true, '']);
    expect(headers.get('access-control-allow-origin')).toBe('*');
    expect(headers.get('access-control-allow-credentials')).toBeNull();
    expect(headers.get('access-control-allow-methods')).toContain('PATCH');
    expect(headers.get('access-control-allow-headers')).toContain('authorization');
  });

  test('answers may be read across origins, errors too', async () => {
    const headers = { Origin: 'https://elsewhere.example' };
    for (const path of ['/me', '/nothing']) {
      const reply = await by.get(path, { headers });
      expect(reply.headers.get('access-control-allow-origin')).toBe('*');
      const exposed = reply.headers.get('access-control-expose-headers')?.toLowerCase() ?? '';
      expect(exposed).toContain('x-request-id');
      expect(exposed).toContain('etag');
    }
  });

  test('a charset does not matter, and no body is an empty one', async () => {
    const headers = { 'Content-Type': 'application/json; charset=iso-8859-1' };
    expect((await by.send('POST', '/search', '{"query":"words"}', { headers })).status).toBe(200);
    const document = await newDocument();
    await by.del(`/resources/${document.id}`);
    expect((await by.send('POST', `/resources/${document.id}/restore`)).status).toBe(200);
    expect((await by.send('POST', '/resources')).error.code).toBe('validation_failed');
  });

  test('health is open to everybody', async () => {
    for (const path of ['/health/live', '/health/ready']) expect((await api(system).get(path)).status).toBe(200);
  });
});

describe('versions', () => {
  test('If-None-Match with the ETag answers 304 until something changes', async () => {
    const { id } = await newDocument();
    const first = await by.get<Resource>(`/resources/${id}`);
    const etag = first.headers.get('etag') ?? '';
    expect(etag).toMatch(/^"v\d+\.[\w-]+"$/);
    expect(first.headers.get('cache-control')).toBe('private, no-cache');
    const headers = { 'If-None-Match': etag };
    const same = await by.get(`/resources/${id}`, { headers });
    expect([same.status, same.text, same.headers.get('etag')]).toEqual([304, '', etag]);
    await by.patch(`/resources/${id}`, { description: 'Changed' });
    const changed = await by.get<Resource>(`/resources/${id}`, { headers });
    expect([changed.status, changed.data.version > first.data.version]).toEqual([200, true]);
    expect(changed.headers.get('etag')).not.toBe(etag);
  });

  test('a write answers the ETag of what it made, and any answer’s ETag will do for If-Match', async () => {
    const { id } = await newDocument();
    const path = `/resources/${id}`;
    const first = await by.patch<Resource>(path, { name: 'One' });
    const match = { headers: { 'If-Match': first.headers.get('etag') ?? '' } };
    const second = await by.patch<Resource>(path, { name: 'Two' }, match);
    expect(second.data.version).toBe(first.data.version + 1);
    const stale = await by.patch(path, { name: 'Three' }, match);
    expect([stale.status, stale.error.code]).toEqual([409, 'version_conflict']);
    expect(stale.error.details).toMatchObject({
      current_version: second.data.version,
      updated_by: expect.anything(),
      updated_at: expect.any(String),
    });
    expect((await by.get<Resource>(path)).data.name).toBe('Two');
  });

  test('base_version in the body means the same, and both have to agree', async () => {
    const { id, version } = await newDocument();
    const path = `/resources/${id}`;
    expect((await by.patch(path, { name: 'One', base_version: version + 7 })).error.code).toBe('version_conflict');
    expect((await by.patch(path, { name: 'One', base_version: version })).status).toBe(200);
    const headers = { 'If-Match': `"v${version}"` };
    expect((await by.patch(path, { name: 'Two', base_version: version + 1 }, { headers })).status).toBe(400);
    expect((await by.del(path, { headers })).error.code).toBe('version_conflict');
    expect((await by.del(`${path}?base_version=${version + 1}`)).status).toBe(200);
  });

  test('on content the version is the content’s', async () => {
    const { id } = await newDocument();
    const path = `/resources/${id}/content`;
    const before = await by.get<Content>(path);
    await by.patch(`/resources/${id}`, { name: 'Renamed' });
    const headers = { 'If-Match': before.headers.get('etag') ?? '' };
    const after = await by.patch<Content>(path, { content: 'New words' }, { headers });
    expect(after.data.version).toBe(before.data.version + 1);
    expect((await by.get<Resource>(`/resources/${id}`)).data.content_version).toBe(after.data.version);
  });

  test('an empty PATCH is 400 no_update_field', async () => {
    const { id } = await newDocument();
    for (const path of [`/resources/${id}`, `/workspaces/${workspace.id}`]) {
      expect((await by.patch(path, {})).error.code).toBe('no_update_field');
    }
  });
});

describe('Idempotency-Key', () => {
  const keyed = (key: string) => ({ headers: { 'Idempotency-Key': key } });

  test('the same request again is answered as the first was, and does nothing', async () => {
    const body = { type: 'folder', name: 'Once', workspace_id: workspace.id };
    const key = randomUUID();
    const first = await by.post<Resource>('/resources', body, keyed(key));
    const again = await by.post<Resource>('/resources', body, keyed(`"${key}"`));
    expect([again.status, again.data]).toEqual([first.status, first.data]);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(again.headers.get('original-request-id')).toBe(first.body.request_id);
    expect(again.body.request_id).not.toBe(first.body.request_id);
    expect(first.headers.get('idempotency-replayed')).toBeNull();
    expect((await by.get(`${list}?q=Once&type=folder`)).page.total).toBe(1);
  });

  test('another body with the same key is 409 idempotency_key_reused', async () => {
    const body = { type: 'folder', name: 'Reused', workspace_id: workspace.id };
    const key = randomUUID();
    await by.post('/resources', body, keyed(key));
    const other = await by.post('/resources', { ...body, name: 'Another' }, keyed(key));
    expect([other.status, other.error.code]).toEqual([409, 'idempotency_key_reused']);
    const elsewhere = await by.post('/workspaces', { name: 'Elsewhere' }, keyed(key));
    expect(elsewhere.status).toBe(201);
  });

  test('a key is its credential’s own', async () => {
    const body = { type: 'folder', name: 'Own', workspace_id: workspace.id };
    const key = randomUUID();
    const first = await by.post<Resource>('/resources', body, keyed(key));
    const other = api(system, (await newKey(by, ['resource:write'])).key);
    const second = await other.post<Resource>('/resources', body, keyed(key));
    expect(second.data.id).not.toBe(first.data.id);
  });

  test('secrets are not told again', async () => {
    const body = { name: 'Secret', scopes: ['org:read'] };
    const key = randomUUID();
    const first = await by.post<ApiKey>('/api-keys', body, keyed(key));
    const again = await by.post<ApiKey>('/api-keys', body, keyed(key));
    expect(first.data.key).toMatch(/^wsk_p_/);
    expect([again.status, again.data.id, again.data.key]).toEqual([201, first.data.id, undefined]);
    expect(again.body.warnings).toMatchObject([{ code: 'secret_not_replayed' }]);
  });

  test('of many at once one takes effect', async () => {
    const body = { type: 'folder', name: 'Concurrent', workspace_id: workspace.id };
    const key = randomUUID();
    const replies = await Promise.all(
      Array.from({ length: 10 }, () => by.post<Resource>('/resources', body, keyed(key))),
    );
    const made = replies.filter(({ status }) => status === 201);
    const waiting = replies.filter(({ status }) => status !== 201);
    expect(new Set(made.map(({ data }) => data.id)).size).toBe(1);
    expect(made.filter(({ headers }) => headers.get('idempotency-replayed') !== 'true')).toHaveLength(1);
    for (const { status, error, headers } of waiting) {
      expect([status, error.code, headers.get('retry-after')]).toEqual([409, 'idempotency_in_progress', '1']);
    }
    expect((await by.get(`${list}?q=Concurrent`)).page.total).toBe(1);
  });

  test('refusals of the object are kept, mistakes in the request are not', async () => {
    const { id } = await newDocument();
    const key = randomUUID();
    const stale = { headers: { 'Idempotency-Key': key, 'If-Match': '"v99"' } };
    expect((await by.patch(`/resources/${id}`, { name: 'x' }, stale)).error.code).toBe('version_conflict');
    const again = await by.patch(`/resources/${id}`, { name: 'x' }, stale);
    expect([again.error.code, again.headers.get('idempotency-replayed')]).toEqual(['version_conflict', 'true']);
    const other = randomUUID();
    const wrong = { type: 'folder', workspace_id: workspace.id };
    expect((await by.post('/resources', wrong, keyed(other))).status).toBe(400);
    expect((await by.post('/resources', { ...wrong, name: 'Right' }, keyed(other))).status).toBe(201);
  });

  test('survives a restart', async () => {
    const body = { type: 'folder', name: 'Restarted', workspace_id: workspace.id };
    const key = randomUUID();
    const first = await by.post<Resource>('/resources', body, keyed(key));
    await system.kill();
    await system.restart();
    const again = await by.post<Resource>('/resources', body, keyed(key));
    expect([again.data.id, again.headers.get('idempotency-replayed')]).toEqual([first.data.id, 'true']);
  }, 60_000);
});

describe('lists', () => {
  test('offset and cursor exclude each other, limits are whole and positive', async () => {
    const cases: [string, string][] = [
      ['limit=0', 'invalid_pagination'],
      ['limit=-1', 'invalid_pagination'],
      ['limit=a', 'invalid_pagination'],
      ['offset=-1', 'invalid_pagination'],
      ['offset=9990&limit=20', 'offset_too_deep'],
    ];
    for (const [query, code] of cases) {
      const { status, error } = await by.get(`${list}?${query}`);
      expect([query, status, error.code]).toEqual([query, 400, code]);
    }
    const { page } = await by.get(`${list}?limit=1`);
    const both = await by.get(`${list}?limit=1&offset=1&cursor=${encodeURIComponent(page.next_cursor ?? '')}`);
    expect([both.status, both.error.code]).toEqual([400, 'invalid_pagination']);
  });

  test('tell where they stand', async () => {
    const { data: folder } = await by.post<Resource>('/resources', {
      type: 'folder',
      name: 'Five',
      workspace_id: workspace.id,
    });
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      await by.post('/resources', { type: 'document', name, parent_id: folder.id });
    }
    const read = async (query: string) => by.get<List<Resource>>(`${list}?parent_id=${folder.id}&${query}`);
    const names = ({ items }: List<Resource>) => items.map(({ name }) => name).join('');
    const first = await read('limit=2');
    expect([names(first.data), first.page]).toMatchObject([
      'ab',
      { limit: 2, offset: 0, total: 5, total_is_estimate: false, has_more: true, next_offset: 2 },
    ]);
    const second = await read(`limit=2&cursor=${encodeURIComponent(first.page.next_cursor ?? '')}`);
    expect(names(second.data)).toBe('cd');
    expect(names((await read('limit=2&offset=2')).data)).toBe('cd');
    const last = await read('limit=2&offset=4');
    expect([names(last.data), last.page.has_more, last.page.next_offset, last.page.next_cursor]).toEqual([
      'e',
      false,
      null,
      null,
    ]);
    expect((await read('limit=1000')).page.limit).toBe(200);
    expect((await read('')).page.limit).toBe(50);
    expect((await read('sort=-name')).data.items.map(({ name }) => name).join('')).toBe('edcba');
    expect((await read('offset=7')).page).toMatchObject({ total: 5, has_more: false });
  });

  test('fields= trims records, unknown names are refused', async () => {
    const { data } = await by.get<List<Resource>>(`${list}?fields=id,name&limit=3`);
    for (const item of data.items) expect(Object.keys(item).sort()).toEqual(['id', 'name']);
    const document = await newDocument();
    const one = await by.get(`/resources/${document.id}?fields=version`);
    expect(one.data).toEqual({ version: document.version });
    expect((await by.get(`${list}?fields=id,secret`)).error.code).toBe('invalid_value');
  });

  test('include= adds, unknown names are refused', async () => {
    const document = await newDocument('Included', 'Some words');
    const { data } = await by.get(`/resources/${document.id}?include=path,access,content,parent`);
    expect(data).toMatchObject({ path: [], content: 'Some words', access: { can_read: true, can_write: true } });
    expect((await by.get(`/resources/${document.id}?include=secrets`)).error.code).toBe('invalid_value');
  });
});

describe('capabilities', () => {
  interface Capabilities {
    readonly api_version: string;
    readonly scopes: readonly string[];
    readonly endpoints: readonly { readonly scope: string; readonly path: string }[];
    readonly limits: Readonly<Record<string, number>>;
  }

  test('show what the caller’s scopes open, and no more', async () => {
    const scopes = ['resource:read', 'search:read'];
    const key = api(system, (await newKey(by, scopes)).key);
    const { data, headers } = await key.get<Capabilities>('/capabilities');
    expect(data.api_version).toBe('v1');
    expect([...data.scopes].sort()).toEqual(scopes);
    expect([...new Set(data.endpoints.map(({ scope }) => scope))].sort()).toEqual(['none', ...scopes]);
    expect(headers.get('cache-control')).toBe('private, max-age=60');
    const again = await key.get('/capabilities', { headers: { 'If-None-Match': headers.get('etag') ?? '' } });
    expect(again.status).toBe(304);
  });
});

describe('who is calling', () => {
  let owner: Person;
  let orgId: string;

  beforeAll(async () => {
    owner = await signIn(system, system.owner);
    orgId = (await owner.post<Org>('/orgs', { name: 'Who' })).data.id;
  });

  test('a Personal key', async () => {
    const { id, key } = await newKey(by, ['resource:read'], { workspace_ids: [workspace.id] });
    const { data } = await api(system, key).get<Me>('/me');
    expect(data).toMatchObject({
      user: { email: system.owner.email },
      tenant: { type: 'personal', org_id: null, role: null },
      credential: { type: 'api_key', key_id: id, scopes: ['resource:read'], workspace_ids: [workspace.id] },
      orgs: [],
    });
    expect((await by.get<Workspace>(`/workspaces/${data.default_workspace_id}`)).data.role).toBe('owner');
  });

  test('a key of an Org', async () => {
    const { id, key } = await newKey(owner, ['org:read'], { org_id: orgId });
    expect(key).toMatch(/^wsk_o_/);
    const { data } = await api(system, key).get<Me>('/me');
    expect(data).toMatchObject({
      tenant: { type: 'org', org_id: orgId, role: 'owner' },
      credential: { type: 'api_key', key_id: id, workspace_ids: null },
      orgs: [{ id: orgId, role: 'owner' }],
    });
  });

  test('a session', async () => {
    const { data } = await owner.get<Me>('/me');
    expect(data).toMatchObject({
      tenant: { type: 'personal' },
      credential: { type: 'session', key_id: null, workspace_ids: null },
      orgs: [{ id: orgId, role: 'owner' }],
    });
    const inOrg = await owner.get<Me>('/me', { headers: { 'X-Tenant': orgId } });
    expect(inOrg.data.tenant).toMatchObject({ type: 'org', org_id: orgId, role: 'owner' });
  });

  test('a token of an identity provider', async () => {
    const claims = {
      email: 'ada@example.com',
      email_verified: true,
      name: 'Ada',
      scope: 'org:read openid unknown:read',
    };
    const token = await issuer.token('ada', claims);
    const { data } = await api(system, token).get<Me>('/me');
    expect(data).toMatchObject({
      user: { email: 'ada@example.com', name: 'Ada' },
      tenant: { type: 'personal' },
      credential: { type: 'bearer', key_id: null, scopes: ['org:read'] },
    });
    expect((await api(system, token).get('/workspaces')).error.code).toBe('insufficient_scope');
    expect((await api(system, await issuer.token('ada', claims)).get<Me>('/me')).data.user.id).toBe(data.user.id);
  });

  test('a token that is not for us, not signed, or over, is refused', async () => {
    const refused = async (token: string) => (await api(system, token).get('/me')).error.code;
    expect(await refused(await issuer.token('ada', { aud: 'others' }))).toBe('invalid_credentials');
    expect(await refused(await issuer.token('ada', { iss: 'http://127.0.0.1:1' }))).toBe('invalid_credentials');
    expect(await refused(await issuer.token('ada', { exp: Math.floor(Date.now() / 1000) - 120 }))).toBe(
      'expired_credentials',
    );
    const [, payload = ''] = (await issuer.token('ada')).split('.');
    const none = Buffer.from(JSON.stringify({ alg: 'none' })).toString('base64url');
    expect(await refused(`${none}.${payload}.`)).toBe('invalid_credentials');
    const [head = '', , signature = ''] = (await issuer.token('ada')).split('.');
    expect(await refused(`${head}.${payload}x.${signature}`)).toBe('invalid_credentials');
  });
});

describe('sessions', () => {
  test('begin with the bootstrap’s address and password, and the cookie is no script’s', async () => {
    const { email, password } = system.owner;
    const reply = await api(system).post<{ csrf_token: string }>('/auth/sign-in', { email, password });
    expect(reply.status).toBe(200);
    expect(reply.body.request_id).toMatch(REQUEST_ID);
    const [cookie = ''] = reply.headers.getSetCookie();
    expect(cookie).toMatch(/^session=[^;]{20,};/);
    expect(cookie).toMatch(/; *HttpOnly/i);
    expect(cookie).toMatch(/; *SameSite=Lax/i);
    expect(cookie).toMatch(/; *Path=\/(;|$)/i);
    expect(reply.text).not.toContain(cookie.slice('session='.length, 40));
  });

  test('a wrong password and an unknown address are answered alike', async () => {
    const { email, password } = system.owner;
    const wrong = await api(system).post('/auth/sign-in', { email, password: `${password}x` });
    const unknown = await api(system).post('/auth/sign-in', { email: 'nobody@example.com', password });
    expect([wrong.status, wrong.error]).toEqual([401, unknown.error]);
    expect(wrong.error.code).toBe('invalid_credentials');
    expect(wrong.headers.getSetCookie()).toEqual([]);
  });

  test('a write needs the CSRF token, and comes from our own pages', async () => {
    const owner = await signIn(system, system.owner);
    const body = { name: 'Guarded' };
    const write = async (headers: Record<string, string>) => {
      const reply = await api(system).post('/workspaces', body, {
        headers: { Cookie: owner.session.cookie, ...headers },
      });
      return [reply.status, reply.body.error?.code];
    };
    expect(await write({})).toEqual([403, 'csrf_failed']);
    expect(await write({ 'X-CSRF-Token': 'wrong' })).toEqual([403, 'csrf_failed']);
    const right = { 'X-CSRF-Token': owner.session.csrf };
    expect(await write({ ...right, Origin: 'https://elsewhere.example' })).toEqual([403, 'csrf_failed']);
    expect(await write({ ...right, Origin: system.baseUrl })).toEqual([201, undefined]);
    expect(await write(right)).toEqual([201, undefined]);
  });

  test('GET /auth/session tells the token, and signing out ends it at once', async () => {
    const owner = await signIn(system, system.owner);
    const { data } = await owner.get<{ csrf_token: string; user: { email: string } }>('/auth/session');
    expect([data.csrf_token, data.user.email]).toEqual([owner.session.csrf, system.owner.email]);
    expect((await owner.get('/me')).status).toBe(200);
    expect((await owner.post('/auth/sign-out', {})).status).toBe(200);
    expect((await owner.get('/auth/session')).status).toBe(401);
  });
});

describe('rate limits', () => {
  let limited: System;

  beforeAll(async () => {
    limited = await startSystem({ COMMONPLACE_RATE_LIMITS: 'write=5' });
  }, 90_000);

  afterAll(() => limited?.stop(), 60_000);

  test('are told with every answer, and 429 says how long to wait', async () => {
    const key = api(limited, limited.owner.apiKey);
    const read = await key.get('/me');
    expect(read.headers.get('ratelimit-policy')).toBe('"default";q=3000;w=60');
    expect(read.headers.get('ratelimit')).toMatch(/^"default";r=\d+;t=\d+$/);
    const statuses: number[] = [];
    for (let i = 0; i < 5; i++) statuses.push((await key.post('/workspaces', { name: `Workspace ${i}` })).status);
    expect(statuses).toEqual([201, 201, 201, 201, 201]);
    const refused = await key.post('/workspaces', { name: 'One too many' });
    expect([refused.status, refused.error.code, refused.error.type]).toEqual([429, 'rate_limited', 'rate_limit']);
    const wait = Number(refused.headers.get('retry-after'));
    expect(Number.isInteger(wait) && wait >= 1 && wait <= 60).toBe(true);
    expect(refused.error.retryable).toBe(true);
    expect(refused.error.details).toMatchObject({
      policy: 'write',
      limit: 5,
      window_seconds: 60,
      retry_after_seconds: wait,
      reason: expect.any(String),
    });
    expect(refused.headers.get('ratelimit-policy')).toContain('"write";q=5;w=60');
    expect(refused.headers.get('ratelimit')).toContain('"write";r=0');
    expect((await key.get('/me')).status).toBe(200);
  });

  test('the capabilities publish the live values', async () => {
    interface Capabilities {
      readonly rate_limits: readonly { readonly name: string; readonly limit: number | null }[];
    }
    const { data } = await api(limited, limited.owner.apiKey).get<Capabilities>('/capabilities');
    expect(data.rate_limits).toContainEqual(expect.objectContaining({ name: 'write', limit: 5 }));
  });
});
