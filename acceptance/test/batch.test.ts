import { beforeAll, describe, expect, test } from '@jest/globals';
import { type Api, api, credentialHeaders } from '../src/client.js';
import { newKey, type Person, signUp } from '../src/people.js';
import type { List, Resource, Workspace } from '../src/records.js';
import { type StandingSystem, standingSystem } from '../src/standing.js';

interface Answer {
  readonly id: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: {
    readonly data?: Record<string, unknown>;
    readonly error?: { readonly code: string; readonly param: string | null };
    readonly request_id: string;
  };
  readonly body_omitted?: string;
}

let system: StandingSystem;
let person: Person;
let workspace: Workspace;

beforeAll(async () => {
  system = await standingSystem();
  person = await signUp(system, 'Batch');
  workspace = (await person.post<Workspace>('/workspaces', { name: 'Batches' })).data;
}, 200_000);

const send = (by: Api, requests: readonly object[], headers: Record<string, string> = {}) =>
  by.post<{ responses: readonly Answer[] }>('/batch', { requests }, { headers });
const answersOf = async (by: Api, requests: readonly object[], headers?: Record<string, string>) =>
  (await send(by, requests, headers)).data.responses;
const statuses = (answers: readonly Answer[]) => answers.map(({ status }) => status);

const get = (id: string, path: string) => ({ id, method: 'GET', path: `/api/v1${path}` });
const create = (id: string, name: string, more: object = {}) => ({
  id,
  method: 'POST',
  path: '/api/v1/resources',
  body: { type: 'document', name, workspace_id: workspace.id, content: `About ${name}` },
  ...more,
});
const newDocument = async (name: string, content = 'words') =>
  (await person.post<Resource>('/resources', { type: 'document', name, workspace_id: workspace.id, content })).data;

test('calls see what those before them have changed, and answer as they would alone', async () => {
  const { id } = await newDocument('Alone');
  const [renamed, read, unchanged, stale, gone] = await answersOf(person, [
    { id: 'a', method: 'PATCH', path: `/api/v1/resources/${id}`, body: { name: 'Renamed' } },
    get('b', `/resources/${id}`),
    { ...get('c', `/resources/${id}?fields=id`), headers: { 'If-None-Match': '*' } },
    { id: 'd', method: 'PATCH', path: `/api/v1/resources/${id}`, body: {}, headers: { 'If-Match': '"v1"' } },
    { id: 'e', method: 'DELETE', path: `/api/v1/resources/${id}` },
  ]);
  expect(statuses([renamed, read, unchanged, stale, gone] as Answer[])).toEqual([200, 200, 304, 400, 200]);
  expect(unchanged?.body).toBeNull();
  const alone = await person.get(`/resources/${id}?include_trashed=true`);
  expect(alone.data.name).toBe('Renamed');
  expect(read?.body.data).toMatchObject({ id, name: 'Renamed', version: 2 });
  expect(renamed?.headers.ETag).toBe(read?.headers.ETag);
  expect(read?.body.request_id).toBe(read?.headers['X-Request-Id']);
});

test('a failed call stops only what depends on it', async () => {
  const answers = await answersOf(person, [
    create('folder', ' ', { body: { type: 'folder', name: '', workspace_id: workspace.id } }),
    create('a', 'Depends', { depends_on: ['folder'] }),
    get('b', '/me'),
  ]);
  expect(statuses(answers)).toEqual([400, 409, 200]);
  expect(answers[1]?.body.error?.code).toBe('failed_dependency');
  const { data } = await person.get<List<Resource>>(`/workspaces/${workspace.id}/resources?q=Depends`);
  expect(data.items).toEqual([]);
});

test('a repeated batch with a key makes each write once, and a write shares its own key with one that is alone', async () => {
  const calls = [create('a', 'Once'), create('b', 'Once'), get('c', '/me')];
  const headers = { 'Idempotency-Key': `batch-${workspace.id}` };
  const first = await answersOf(person, calls, headers);
  const second = await answersOf(person, [...calls, create('d', 'Later')], headers);
  const ids = (answers: readonly Answer[]) => answers.slice(0, 2).map(({ body }) => body.data?.id);
  expect(new Set(ids(first)).size).toBe(2);
  expect(ids(second)).toEqual(ids(first));
  expect(statuses(second)).toEqual([201, 201, 200, 201]);
  expect(second.map((one) => one.headers['Idempotency-Replayed'])).toEqual(['true', 'true', undefined, undefined]);
  const changed = await answersOf(person, [create('a', 'Other')], headers);
  expect(changed[0]?.body.error?.code).toBe('idempotency_key_reused');

  const own = { 'Idempotency-Key': `own-${workspace.id}` };
  const call = create('a', 'Shared');
  const [inBatch] = await answersOf(person, [{ ...call, headers: own }]);
  const alone = await person.post('/resources', call.body, { headers: own });
  expect([alone.data.id, alone.headers.get('idempotency-replayed')]).toEqual([inBatch?.body.data?.id, 'true']);
});

test('the capabilities list it as a preview, with its limits', async () => {
  const { data } = await person.get<{ endpoints: readonly { path: string }[]; limits: object }>('/capabilities');
  expect(data.endpoints.filter(({ path }) => path === '/api/v1/batch')).toEqual([
    { method: 'POST', path: '/api/v1/batch', scope: 'none', status: 'preview' },
  ]);
  expect(data.limits).toMatchObject({ batch_calls: 50, batch_body_bytes: 1024 * 1024 });
});

describe('the gates hold for each call', () => {
  test('a key does in a batch what its scopes and its workspaces allow', async () => {
    const other = (await person.post<Workspace>('/workspaces', { name: 'Other' })).data;
    const { key } = await newKey(person, ['workspace:read', 'resource:read'], { workspace_ids: [workspace.id] });
    const limited = api(system, key);
    const answers = await answersOf(limited, [
      get('a', `/workspaces/${workspace.id}`),
      get('b', `/workspaces/${other.id}`),
      create('c', 'Refused'),
    ]);
    expect(answers.map(({ status, body }) => [status, body.error?.code])).toEqual([
      [200, undefined],
      [403, 'tenant_boundary'],
      [403, 'insufficient_scope'],
    ]);
    const narrowed = await send(person, [get('a', `/workspaces/${other.id}`)], { 'X-Workspace-Id': workspace.id });
    const alone = await person.get(`/workspaces/${other.id}`, { headers: { 'X-Workspace-Id': workspace.id } });
    expect(narrowed.data.responses[0]?.status).toBe(alone.status);
    expect(alone.status).toBeGreaterThanOrEqual(400);
    const wider = { ...get('a', `/workspaces/${other.id}`), headers: { 'X-Workspace-Id': other.id } };
    expect((await send(person, [wider], { 'X-Workspace-Id': workspace.id })).status).toBe(400);
  });

  test('a key that is revoked in a batch is refused from the next call on', async () => {
    const { id, key } = await newKey(person, ['api_key:read', 'api_key:write']);
    const revoke = { id: 'b', method: 'DELETE', path: `/api/v1/api-keys/${id}` };
    const answers = await answersOf(api(system, key), [get('a', '/me'), revoke, get('c', '/me')]);
    expect(statuses(answers)).toEqual([200, 200, 401]);
    expect(answers[2]?.body.error?.code).toBe('revoked_key');
  });

  test('a session needs its CSRF token, and a stranger gets nothing', async () => {
    const body = JSON.stringify({ requests: [create('a', 'Forged')] });
    const url = `${system.baseUrl}/api/v1/batch`;
    const headers = { cookie: person.session.cookie, 'Content-Type': 'application/json' };
    const forged = await fetch(url, { method: 'POST', headers, body });
    expect([forged.status, ((await forged.json()) as { error: { code: string } }).error.code]).toEqual([
      403,
      'csrf_failed',
    ]);
    expect((await send(api(system), [get('a', '/me')])).status).toBe(401);
  });
});

describe('attacks', () => {
  test('a batch contains no batch, no hook and nothing outside of the API', async () => {
    const nested = { id: 'a', method: 'POST', path: '/api/v1/batch', body: { requests: [get('b', '/me')] } };
    const hook = { id: 'b', method: 'POST', path: '/api/v1/hooks/forms/abcdefghijklmnop', body: {} };
    const answers = await answersOf(person, [nested, hook, get('c', '/openapi.json'), get('d', '/%62atch')]);
    expect(answers.map(({ status, body }) => [status, body.error?.code])).toEqual([
      [400, 'not_in_batch'],
      [400, 'not_in_batch'],
      [400, 'not_in_batch'],
      [404, 'route_not_found'],
    ]);
  });

  test.each([
    ['/health/live'],
    ['/auth/sign-out'],
    ['/mcp'],
    ['/blobs/a'],
    ['/api/v1/../../health/live'],
    ['/api/v1/%2e%2e/health/live'],
    ['/api/v1/x/..%5c..'],
    ['http://127.0.0.1:1/api/v1/me'],
    ['//example.com/api/v1/me'],
    ['\\\\example.com\\api\\v1\\me'],
    ['/api/v1/me HTTP/1.1\r\nHost: example.com\r\n\r\nGET /health/live'],
    ['/api/v1/me\u0000'],
    ['/api/v1/me#/x'],
  ])('the path %j reaches nothing else', async (path) => {
    const answer = await send(person, [{ id: 'a', method: 'GET', path }]);
    const inner = answer.status === 200 ? answer.data.responses[0]?.status : answer.status;
    expect([400, 404]).toContain(inner);
  });

  test('a fault in the body of a call is a fault of that call alone', async () => {
    const create = (id: string, body: unknown) => ({ id, method: 'POST', path: '/api/v1/workspaces', body });
    const calls = [
      create('nul', { name: 'a\0b' }),
      create('half', { name: '\ud800' }),
      create('good', { name: 'Good' }),
    ];
    const answers = await answersOf(person, calls);
    expect(answers.map(({ status, body }) => [status, body.error?.param])).toEqual([
      [400, 'name'],
      [400, 'name'],
      [201, undefined],
    ]);
  });

  test('null is no body', async () => {
    const answers = await answersOf(person, [{ ...get('a', '/me'), body: null }]);
    expect(statuses(answers)).toEqual([200]);
  });

  test('encoded slashes stay in their segment', async () => {
    const { id } = await newDocument('Slashes');
    const paths = [`/workspaces/..%2Fresources%2F${id}`, `/resources/${id}%2Fcontent`, `/resources/${id}%2f..`];
    const alone = await Promise.all(paths.map(async (path) => (await person.get(path)).status));
    const inBatch = await answersOf(
      person,
      paths.map((path, i) => get(`${i}`, path)),
    );
    expect(statuses(inBatch)).toEqual(alone);
    expect(alone).toEqual([400, 400, 400]);
  });

  test('headers of a call replace neither the credential, the client nor the framing', async () => {
    const stranger = await signUp(system, 'Stranger');
    const forged = {
      Host: 'example.com',
      Authorization: 'Bearer wsk_p_x',
      Cookie: stranger.session.cookie,
      'X-CSRF-Token': 'a',
      'Content-Length': '0',
      'Transfer-Encoding': 'chunked',
      'X-Forwarded-For': '1.2.3.4',
      'X-Request-Id': 'req_a',
    };
    const refused = await send(person, [{ ...get('a', '/me'), headers: forged }]);
    expect(refused.status).toBe(400);
    expect((refused.error.details as unknown as { param: string }[]).map(({ param }) => param)).toEqual(
      Object.keys(forged).map((name) => `requests[0].headers.${name}`),
    );
    const split = { 'If-Match': '"v1"\r\nAuthorization: Bearer x' };
    expect((await send(person, [{ ...get('a', '/me'), headers: split }])).status).toBe(400);
  });

  test('51 calls, none, equal ids, unknown methods, a GET with a body and later dependencies are refused', async () => {
    const many = Array.from({ length: 51 }, (_, i) => get(`${i}`, '/me'));
    const codes = [
      many,
      [],
      [get('a', '/me'), get('a', '/me')],
      [{ ...get('a', '/me'), method: 'TRACE' }],
      [{ ...get('a', '/me'), method: 'CONNECT' }],
      [{ ...get('a', '/me'), body: {} }],
      [{ ...get('a', '/me'), depends_on: ['b'] }, get('b', '/me')],
      [{ ...get('a', '/me'), headers: { Accept: 'text/event-stream' } }],
    ];
    for (const requests of codes) expect((await send(person, requests)).status).toBe(400);
    expect(statuses(await answersOf(person, many.slice(1)))).toEqual(many.slice(1).map(() => 200));
  }, 60_000);

  test('an answer of 5 MB is left out, and a write with such an answer stays', async () => {
    const { id } = await newDocument('Large', 'word '.repeat(900_000));
    const answers = await answersOf(person, [
      get('a', `/resources/${id}/content`),
      { id: 'b', method: 'PATCH', path: `/api/v1/resources/${id}`, body: { name: 'Larger' } },
      get('c', `/resources/${id}?fields=name`),
    ]);
    expect(answers.map((one) => [one.status, one.body === null, one.body_omitted])).toEqual([
      [200, true, 'answer_limit'],
      [200, false, undefined],
      [200, false, undefined],
    ]);
    expect(answers[0]?.headers.ETag).toMatch(/^"v/);
    expect(answers[2]?.body.data).toEqual({ name: 'Larger' });
  }, 60_000);

  test('the body of a call may be nested as deeply as it may alone', async () => {
    const lists = (count: number): object =>
      count === 0
        ? { type: 'paragraph', content: [{ type: 'text', text: 'Deep.' }] }
        : { type: 'bulletList', content: [{ type: 'listItem', content: [lists(count - 1)] }] };
    const content = (count: number) => ({ type: 'doc', content: [lists(count)] });
    const [deep, deeper, other] = await answersOf(person, [
      create('a', 'Deep', {
        body: { type: 'document', name: 'Deep', workspace_id: workspace.id, content: content(30) },
      }),
      { id: 'b', method: 'POST', path: '/api/v1/memories', body: { content: 'Deep.', metadata: content(30) } },
      get('c', '/me'),
    ]);
    expect([deep?.status, deeper?.status, other?.status]).toEqual([201, 400, 200]);
    expect(deeper?.body.error).toMatchObject({ code: 'invalid_json' });
  });

  test('a body that is too large, or nested too deeply, is refused before any call', async () => {
    const large = await send(person, [create('a', 'x'.repeat(1_100_000))]);
    expect(large.error).toMatchObject({ code: 'payload_too_large', details: { limit: 1024 * 1024 } });
    const nested = `{"requests":[{"id":"a","method":"POST","path":"/api/v1/resources","body":${'['.repeat(1_100)}${']'.repeat(1_100)}}]}`;
    const headers = { ...credentialHeaders(person.session, 'POST'), 'Content-Type': 'application/json' };
    const answer = await fetch(`${system.baseUrl}/api/v1/batch`, { method: 'POST', headers, body: nested });
    expect(answer.status).toBe(400);
    await answer.arrayBuffer();
  });
});
