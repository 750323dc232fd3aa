import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Api, api, type Reply } from '../src/client.js';
import { newKey, signIn } from '../src/people.js';
import type { Fault, List, Resource, Workspace } from '../src/records.js';
import { standingSystem } from '../src/standing.js';
import { type OwnSystem, type System, startSystem } from '../src/system.js';

let system: System;
/** The owner's first key, with every scope. */
let by: Api;
let workspace: Workspace;
let list: string;

beforeAll(async () => {
  system = await standingSystem();
  by = api(system, system.owner.apiKey);
  workspace = (await by.post<Workspace>('/workspaces', { name: 'Conventions' })).data;
  list = `/workspaces/${workspace.id}/resources`;
});

async function newDocument(name = 'Document', content = 'Words'): Promise<Resource> {
  return (await by.post<Resource>('/resources', { type: 'document', name, workspace_id: workspace.id, content })).data;
}

const REQUEST_ID = /^req_[a-z2-7]{26}$/;

describe('input', () => {
  test('is decoded once: a value that is encoded twice stays encoded once', async () => {
    const encoded = (times: number, text: string): string =>
      times === 1
        ? text.replace(/^./, (first) => `%${first.charCodeAt(0).toString(16)}`)
        : `%25${encoded(1, text).slice(1)}`;
    const statusOf = async (path: string) => (await by.get(path)).status;
    expect(await statusOf(`/workspaces/${encoded(1, workspace.id)}`)).toBe(200);
    expect(await statusOf(`/workspaces/${encoded(2, workspace.id)}`)).toBe(400);
    expect(await statusOf(`${list}?limit=${encoded(1, '5')}`)).toBe(200);
    expect(await statusOf(`${list}?limit=${encoded(2, '5')}`)).toBe(400);
    expect(await statusOf(`${list}?${encoded(2, 'limit')}=nonsense`)).toBe(200);
    for (const name of ['%41', '%2541', '\\u0041', '&#65;', 'a+b']) {
      const { id } = await newDocument(name, name);
      expect((await by.get<Resource>(`/resources/${id}`)).data.name).toBe(name);
    }
  });
});

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

  test('a list is data.items with a page next to it', async () => {
    const { body } = await by.get<List<unknown>>('/workspaces');
    expect(Object.keys(body).sort()).toEqual(['data', 'page', 'request_id']);
    expect(Array.isArray(body.data?.items)).toBe(true);
    const keys = ['has_more', 'limit', 'next_cursor', 'next_offset', 'offset', 'total', 'total_is_estimate'];
    expect(Object.keys(body.page ?? {}).sort()).toEqual(keys);
  });

  test('known but empty fields are null, and times are UTC with milliseconds', async () => {
    const { data } = await by.post('/resources', { type: 'folder', name: 'Plain', workspace_id: workspace.id });
    expect(data).toMatchObject({ parent_id: null, icon: null, description: null, external_id: null, trashed_at: null });
    expect(data.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(data.created_by).toMatchObject({ type: 'api_key' });
  });

  test('a creation returns 201, and a deletion 200 with the id', async () => {
    const created = await by.post<Resource>('/resources', { type: 'folder', name: 'Gone', workspace_id: workspace.id });
    expect(created.status).toBe(201);
    const deleted = await by.del(`/resources/${created.data.id}`);
    expect(deleted.status).toBe(200);
    expect(deleted.data).toMatchObject({ id: created.data.id, deleted: true });
  });

  test('every request has a unique id', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, async () => (await by.get('/me')).body.request_id));
    expect(new Set(ids).size).toBe(20);
  });
});

describe('errors', () => {
  test('contain type, code, all invalid fields, and a link to the documentation', async () => {
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

  test('name the field, whichever part of the server refuses it', async () => {
    const { id } = await newDocument();
    const requests: [path: string, body: object, message: string][] = [
      [`/resources/${id}/publish`, { slug: 'Not a slug' }, 'slug must be 3 to 80 of a–z, 0–9 and "-".'],
      ['/workspaces', { name: 'W', default_role: 'viewer' }, 'default_role is for workspaces of an Org.'],
      ['/memories', { content: 'x', expires_at: '2001-01-01T00:00:00Z' }, 'expires_at must be in the future.'],
      ['/api-keys', { name: 'K', scopes: ['everything'] }, 'scopes[0]: There is no scope everything.'],
    ];
    for (const [path, body, message] of requests) {
      const { error } = await by.post(path, body);
      expect([error.message, error.details]).toEqual([message, [{ param: error.param, code: error.code, message }]]);
    }
  });

  test('repeat only the beginning of a very long name of a field', async () => {
    const name = 'k'.repeat(50_000);
    const rows = Array.from({ length: 100 }, () => ({ [name]: 1 }));
    const body = { type: 'table', name: 'Wide', workspace_id: workspace.id, columns: [{ name: 'Name' }], rows };
    const { status, error, text } = await by.post('/resources', body);
    expect([status, error.code, error.message]).toEqual([400, 'validation_failed', '100 fields are not valid.']);
    expect(text.length).toBeLessThan(64 * 1024);
  });

  test('are in the language that the client requests', async () => {
    const ask = (language: string) =>
      by.post(
        '/resources',
        { type: 'folder', workspace_id: workspace.id },
        { headers: { 'Accept-Language': language } },
      );
    const languages = ['de-AT,de;q=0.9,en;q=0.5', 'fr', 'nl;q=0.9, es;q=0.8', 'en', 'xx', '*'];
    const answers = await Promise.all(languages.map(ask));
    expect(answers.map(({ headers, error }) => [headers.get('content-language'), error.code, error.message])).toEqual([
      ['de', 'missing_field', 'name ist erforderlich.'],
      ['fr', 'missing_field', 'name est obligatoire.'],
      ['es', 'missing_field', 'name es obligatorio.'],
      ...Array.from({ length: 3 }, () => ['en', 'missing_field', 'name is required.']),
    ]);
    expect(answers[0]?.error.details).toMatchObject([{ param: 'name', message: 'name ist erforderlich.' }]);
    const problem = { 'Accept-Language': 'de', Accept: 'application/problem+json' };
    const { text } = await by.get(`/resources/${randomUUID()}`, { headers: problem });
    expect(JSON.parse(text)).toMatchObject({
      code: 'not_found',
      detail: 'Das gibt es nicht, oder Sie dürfen es nicht sehen.',
    });
  });

  test('a single invalid field is named at the top', async () => {
    const { error } = await by.post('/resources', { type: 'folder', name: 'x', workspace_id: workspace.id, colour: 1 });
    expect(error).toMatchObject({ code: 'unknown_field', param: 'colour' });
  });

  test('are RFC 9457 problems on request', async () => {
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

  test.each([
    ['Application/Problem+JSON', 'application/problem+json'],
    ['application/problem+json;q=0, */*', 'application/json; charset=utf-8'],
  ])('have the media type that %s asks for', async (accept, type) => {
    const { headers } = await by.get(`/resources/${randomUUID()}`, { headers: { Accept: accept } });
    expect(headers.get('content-type')).toBe(type);
  });

  test('an unknown path is 404 route_not_found if there is a credential', async () => {
    const reply = await by.get('/nothing/here');
    expect([reply.status, reply.error.code, reply.headers.get('allow')]).toEqual([404, 'route_not_found', null]);
    expect((await api(system).get('/nothing/here')).error.code).toBe('missing_credentials');
    expect((await api(system).get('/api/v2/me')).error.code).toBe('route_not_found');
  });

  test('a method that a path does not support is 404 with Allow', async () => {
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

  test('HEAD returns what GET does, without the body', async () => {
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

  test('responses may be read across origins, errors too', async () => {
    const headers = { Origin: 'https://elsewhere.example' };
    for (const path of ['/me', '/nothing']) {
      const reply = await by.get(path, { headers });
      expect(reply.headers.get('access-control-allow-origin')).toBe('*');
      const exposed = reply.headers.get('access-control-expose-headers')?.toLowerCase() ?? '';
      expect(exposed).toContain('x-request-id');
      expect(exposed).toContain('etag');
    }
  });

  test('a charset is ignored, and no body is an empty one', async () => {
    const headers = { 'Content-Type': 'application/json; charset=iso-8859-1' };
    expect((await by.send('POST', '/search', '{"query":"words"}', { headers })).status).toBe(200);
    const document = await newDocument();
    await by.del(`/resources/${document.id}`);
    expect((await by.send('POST', `/resources/${document.id}/restore`)).status).toBe(200);
    expect((await by.send('POST', '/resources')).error.code).toBe('validation_failed');
  });

  test('health is public', async () => {
    for (const path of ['/health/live', '/health/ready']) expect((await api(system).get(path)).status).toBe(200);
  });
});

describe('a PATCH that changes nothing', () => {
  test('leaves the version and the time of the last change', async () => {
    const owner = await signIn(system, system.owner);
    const { data: org } = await owner.post<Named>('/orgs', { name: 'Unchanged' });
    const at = { workspace_id: workspace.id };
    const { data: agent } = await by.post<Named>('/agents', { name: 'Unchanged', instructions: 'Answer.' });
    const { data: group } = await owner.post<Named>(`/orgs/${org.id}/groups`, { name: 'Unchanged' });
    const { data: message } = await by.post<Named>('/memories', { content: `Unchanged ${randomUUID()}` });
    const { data: automation } = await by.post<Named>('/automations', {
      ...{ name: 'Unchanged', ...at, trigger: { type: 'manual' }, actions: [{ id: 'end', type: 'stop' }] },
    });
    const { data: schedule } = await by.post<Named>('/agent-schedules', {
      ...{ name: 'Unchanged', ...at, automation_id: automation.id, cron: '0 9 * * *', timezone: 'UTC' },
    });
    const { data: item } = await by.post<Named>('/work-items', { title: 'Unchanged', ...at });
    const { data: session } = await by.post<Named>('/chat-sessions', { title: 'Unchanged', ...at });
    const { data: talk } = await by.post<Named>('/im/conversations', { type: 'group', name: 'Unchanged', ...at });
    const cases: [path: string, body: object, other: object][] = [
      [`/orgs/${org.id}`, { name: 'Unchanged', settings: {} }, { name: 'Changed' }],
      [`/orgs/${org.id}/groups/${group.id}`, { name: 'Unchanged', description: null }, { name: 'Changed' }],
      [`/workspaces/${workspace.id}`, { name: 'Conventions' }, { description: 'Changed' }],
      [`/resources/${(await newDocument()).id}`, { name: 'Document', tags: [], metadata: null }, { name: 'Changed' }],
      [`/agents/${agent.id}`, { name: 'Unchanged', instructions: 'Answer.' }, { name: 'Changed' }],
      [`/memories/${message.id}`, { is_pinned: false, tags: [] }, { is_pinned: true }],
      [`/automations/${automation.id}`, { name: 'Unchanged', is_active: true }, { name: 'Changed' }],
      [`/agent-schedules/${schedule.id}`, { name: 'Unchanged', is_active: true }, { name: 'Changed' }],
      [`/work-items/${item.id}`, { title: 'Unchanged' }, { title: 'Changed' }],
      [`/chat-sessions/${session.id}`, { title: 'Unchanged' }, { title: 'Changed' }],
      [`/im/conversations/${talk.id}`, { name: 'Unchanged' }, { name: 'Changed' }],
    ];
    for (const [path, body, other] of cases) {
      const one = path.startsWith('/orgs') ? owner : by;
      const { data: before } = await one.get<Versioned>(path);
      const { data: same } = await one.patch<Versioned>(path, body);
      expect([path, same.version, same.updated_at]).toEqual([path, before.version, before.updated_at]);
      const { data: after } = await one.patch<Versioned>(path, other);
      expect([path, after.version]).toEqual([path, before.version + 1]);
    }
  });
});

interface Named {
  readonly id: string;
}

interface Versioned {
  readonly version: number;
  readonly updated_at?: string;
}

describe('refusals', () => {
  test('that concern a field name it', async () => {
    const { id } = await newDocument();
    const { data: other } = await by.post<Workspace>('/workspaces', { name: 'Other' });
    const key = await newKey(by, ['resource:write'], { workspace_ids: [workspace.id, other.id] });
    const limited = api(system, key.key);
    const { data: file } = await by.post<{ resource: Resource }>('/files', { ...FILE, workspace_id: workspace.id });
    const cases: [call: string, reply: Promise<Reply<unknown>>, code: string, param: string][] = [
      ['resource', limited.post('/resources', { type: 'folder', name: 'A' }), 'workspace_required', 'workspace_id'],
      ['file', by.post('/resources', { type: 'file', name: 'A' }), 'use_files_endpoint', 'type'],
      ['child', by.post('/resources', { ...CHILD, parent_id: file.resource.id }), 'parent_not_container', 'parent_id'],
      ['format', by.get(`/resources/${id}/content?format=table`), 'unsupported_format', 'format'],
      ['permission', by.del(`/resources/${id}/permissions`), 'missing_target', 'permission_id'],
      ['tag', by.del(`/resources/${id}/tags`), 'missing_target', 'tag_id'],
      ['tags', by.send('DELETE', `/resources/${id}/tags`, { name: 'a', tag_ids: [id] }), 'ambiguous_target', 'tag_ids'],
      [
        'schedule',
        by.post('/agent-schedules', { ...SCHEDULE, workspace_id: workspace.id }),
        'missing_target',
        'agent_id',
      ],
    ];
    for (const [call, reply, code, param] of cases) {
      const { error } = await reply;
      expect([call, error.code, error.param]).toEqual([call, code, expect.stringMatching(`^${param}`)]);
    }
  });
});

const FILE = { name: 'a.txt', content_base64: 'YQ==' };
const CHILD = { type: 'document', name: 'A' };
const SCHEDULE = { name: 'A', cron: '0 9 * * *', input: 'Hello' };

describe('lists', () => {
  test('a cursor belongs to its list, order and filter', async () => {
    for (const name of ['One', 'Two', 'Three']) await newDocument(name);
    const first = await by.get<List<Resource>>(`${list}?limit=1&sort=name&type=document`);
    const cursor = encodeURIComponent(first.page.next_cursor ?? '');
    const statusOf = async (path: string) => {
      const { status, body } = await by.get(`${path}${path.includes('?') ? '&' : '?'}cursor=${cursor}`);
      return [status, body.error?.code, body.error?.param];
    };
    const refused = [400, 'invalid_pagination', 'cursor'];
    expect(await statusOf(`${list}?sort=-name&type=document`)).toEqual(refused);
    expect(await statusOf(`${list}?sort=name`)).toEqual(refused);
    expect(await statusOf(`${list}?sort=name&type=document&q=o`)).toEqual(refused);
    for (const other of ['/workspaces?sort=name', '/agents?sort=name', '/orgs', `/workspaces/${workspace.id}/tags`]) {
      expect([other, ...(await statusOf(other))]).toEqual([other, ...refused]);
    }
    expect(await statusOf(`${list}?sort=name&type=document&limit=2`)).toEqual([200, undefined, undefined]);
    expect(await statusOf(`${list}?type=document&sort=name&include=path&fields=id`)).toEqual([
      200,
      undefined,
      undefined,
    ]);
  });

  test('offset and cursor exclude each other, and limits are positive whole numbers', async () => {
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

  test('return their position', async () => {
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

  test('fields= reduces records, and unknown names are refused', async () => {
    const { data } = await by.get<List<Resource>>(`${list}?fields=id,name&limit=3`);
    for (const item of data.items) expect(Object.keys(item).sort()).toEqual(['id', 'name']);
    const document = await newDocument();
    const one = await by.get(`/resources/${document.id}?fields=version`);
    expect(one.data).toEqual({ version: document.version });
    expect((await by.get(`${list}?fields=id,secret`)).error.code).toBe('invalid_value');
    // The balance is one record, the ledger a list.
    expect((await by.get('/credits?fields=unit,available')).data).toEqual({ unit: 'credit', available: null });
    expect((await by.get('/credits?view=ledger&fields=id')).data).toEqual({ items: expect.any(Array) });
  });

  test('include= adds fields, and unknown names are refused', async () => {
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

  test('show exactly what the caller’s scopes allow', async () => {
    const scopes = ['resource:read', 'search:read'];
    const key = api(system, (await newKey(by, scopes)).key);
    const { data, headers } = await key.get<Capabilities>('/capabilities');
    expect(data).toMatchObject({ api_version: 'v1', features: { streaming: true } });
    expect([...data.scopes].sort()).toEqual(scopes);
    expect([...new Set(data.endpoints.map(({ scope }) => scope))].sort()).toEqual(['none', ...scopes]);
    expect(headers.get('cache-control')).toBe('private, max-age=60');
    const again = await key.get('/capabilities', { headers: { 'If-None-Match': headers.get('etag') ?? '' } });
    expect(again.status).toBe(304);
  });
});

describe('rate limits', () => {
  let limited: OwnSystem;

  beforeAll(async () => {
    limited = await startSystem({ COMMONPLACE_RATE_LIMITS: 'write=5' });
  });

  afterAll(() => limited?.stop());

  test('are returned with every response, and 429 has the time to wait', async () => {
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

  test('the capabilities publish the current values', async () => {
    interface Capabilities {
      readonly rate_limits: readonly { readonly name: string; readonly limit: number | null }[];
      readonly limits: Readonly<Record<string, number>>;
    }
    const { data } = await api(limited, limited.owner.apiKey).get<Capabilities>('/capabilities');
    expect(data.rate_limits).toContainEqual(expect.objectContaining({ name: 'write', limit: 5 }));
    expect(data.limits).toMatchObject({ concurrent_requests: 50, open_streams: 20 });
  });
});
