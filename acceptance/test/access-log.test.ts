import { hostname } from 'node:os';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Api, api } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import type { Resource, Workspace } from '../src/records.js';
import { type OwnSystem, startSystem } from '../src/system.js';

/** Is part of each secret that the test sends, so no line may contain it. */
const SECRET = 'ThisIsSecret0123456789';

let system: OwnSystem;
let by: Api;

beforeAll(async () => {
  system = await startSystem({ COMMONPLACE_ACCESS_LOG: 'on', COMMONPLACE_LOG_LEVEL: 'info' });
  by = api(system, system.owner.apiKey);
}, 200_000);
afterAll(() => system?.stop());

interface Line {
  readonly event?: string;
  readonly request_id?: string;
  readonly [field: string]: unknown;
}

/** Returns the line of a request, once it is written. */
async function lineOf(requestId: string | null): Promise<Line> {
  let found: Line | undefined;
  await eventually(async () => {
    const lines = (await system.said()).split('\n').filter((line) => line.startsWith('{'));
    found = lines
      .map((line) => JSON.parse(line) as Line)
      .find((line) => line.event === 'request.done' && line.request_id === requestId);
    expect(found).toBeDefined();
  });
  return found as Line;
}

async function send(path: string, init: RequestInit = {}): Promise<Response> {
  const answer = await fetch(`${system.baseUrl}${path}`, { redirect: 'manual', ...init });
  await answer.arrayBuffer();
  return answer;
}

test('a call in a batch has a line of its own, which names the request of the batch', async () => {
  const requests = [{ id: 'a', method: 'GET', path: '/api/v1/me' }];
  const { data, body } = await by.post<{ responses: { headers: Record<string, string> }[] }>('/batch', { requests });
  const line = await lineOf(data.responses[0]?.headers['X-Request-Id'] ?? null);
  expect(line).toMatchObject({ method: 'GET', route: '/api/v1/me', status: 200, batch: body.request_id });
  expect(line.client).toBe('127.0.0.1');
  expect(await lineOf(body.request_id)).toMatchObject({ method: 'POST', route: '/api/v1/batch', status: 200 });
});

test('a request has one line with the caller and the endpoint', async () => {
  const workspace = (await by.post<Workspace>('/workspaces', { name: 'Logged' })).data;
  const body = { type: 'document', name: 'Logged', workspace_id: workspace.id };
  const { id } = (await by.post<Resource>('/resources', body)).data;
  const headers = { Authorization: `Bearer ${system.owner.apiKey}`, 'X-Client-Request-Id': 'mine-1' };
  const answer = await send(`/api/v1/resources/${id}`, { headers });
  expect(answer.status).toBe(200);
  const line = await lineOf(answer.headers.get('x-request-id'));
  expect(line).toMatchObject({
    method: 'GET',
    route: '/api/v1/resources/{resource_id}',
    status: 200,
    client: '127.0.0.1',
    service: 'gateway',
    hostname: hostname(),
    client_request_id: 'mine-1',
    principal: expect.stringMatching(/^user:[0-9a-f-]{36}$/),
    tenant: expect.any(String),
    key: system.owner.apiKey.slice(0, 'wsk_p_'.length + 12),
    duration_ms: expect.any(Number),
    sent_ms: expect.any(Number),
  });
  expect(line.bytes).toBeGreaterThan(Number(answer.headers.get('content-length')));
  expect(line).not.toHaveProperty('aborted');
  expect(JSON.stringify(line)).not.toContain(id);
});

test('no line has a credential, a token of a path or a query, or a body', async () => {
  const bearer = (token: string) => ({ headers: { Authorization: `Bearer ${token}` } });
  const key = `wsk_p_3fGh5Jk7LmN9_${SECRET}`;
  const requests: [string, RequestInit?][] = [
    [`/api/v1/hooks/forms/${SECRET}`, { method: 'POST', body: JSON.stringify({ name: SECRET }) }],
    [`/api/v1/hooks/automations/${SECRET}`, { method: 'POST', body: SECRET }],
    [`/p/${SECRET}`],
    [`/s/${SECRET}`],
    [`/share/${SECRET}`],
    [`/forms/${SECRET}?token=${SECRET}`],
    [`/blobs/${SECRET}?signature=${SECRET}`],
    [`/auth/reset?token=${SECRET}`],
    [`/api/v1/resources?access_token=${SECRET}`, bearer(key)],
    ['/api/v1/resources', bearer(SECRET)],
    ['/api/v1/resources', { headers: { Cookie: `__Host-session=${SECRET}; session=${SECRET}` } }],
    ['/api/v1/resources', { headers: { 'X-Client-Request-Id': key } }],
    [`/${SECRET}/../${SECRET}?${SECRET}`],
    ['/auth/sign-in', { method: 'POST', body: new URLSearchParams({ email: 'a@example.com', password: SECRET }) }],
  ];
  for (const [path, init] of requests) {
    const answer = await send(path, init);
    await lineOf(answer.headers.get('x-request-id'));
  }
  expect(await system.said()).not.toContain(SECRET);
});

test('every line names its host and its service', async () => {
  const lines = (await system.said()).split('\n').filter((line) => line.startsWith('{'));
  expect(lines.length).toBeGreaterThan(1);
  for (const line of lines) {
    expect(JSON.parse(line)).toMatchObject({ hostname: hostname(), service: expect.stringMatching(/^[a-z]+$/) });
    expect(line.match(/"service":/g)).toHaveLength(1);
  }
});

test('a stream is logged when it ends, with all bytes that were sent', async () => {
  const leave = new AbortController();
  const headers = { Authorization: `Bearer ${system.owner.apiKey}`, Accept: 'text/event-stream' };
  const answer = await fetch(`${system.baseUrl}/api/v1/events`, { headers, signal: leave.signal });
  expect(answer.status).toBe(200);
  const id = answer.headers.get('x-request-id');
  expect(await system.said()).not.toContain(`"${id}"`);
  leave.abort();
  expect(await lineOf(id)).toMatchObject({ route: '/api/v1/events', status: 200, aborted: true });
});
