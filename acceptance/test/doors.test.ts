import { connect } from 'node:net';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { type Api, api } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import { type Person, signIn } from '../src/people.js';
import type { Resource, Workspace } from '../src/records.js';
import { standingSystem } from '../src/standing.js';
import type { System } from '../src/system.js';

let system: System;
let owner: Person;

beforeAll(async () => {
  system = await standingSystem();
  owner = await signIn(system, system.owner);
});

interface RawAnswer {
  readonly status: number;
  readonly headers: string;
  readonly text: string;
  readonly body: { readonly error?: { readonly code: string; readonly param: string | null } };
}

/** Sends the lines of a request unchanged, and reads the whole response. */
function raw(...lines: string[]): Promise<RawAnswer> {
  const { hostname, port } = new URL(system.baseUrl);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(`${lines.join('\r\n')}\r\n\r\n`));
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    socket.once('error', reject);
    socket.once('close', () => {
      const [headers = '', body = ''] = text.split('\r\n\r\n');
      const json = body.slice(body.indexOf('{'), body.lastIndexOf('}') + 1);
      resolve({ status: Number(headers.slice(9, 12)), headers, text, body: json === '' ? {} : JSON.parse(json) });
    });
  });
}

describe('a request with odd headers gets the documented error', () => {
  const last = 'Connection: close';
  const cases: [what: string, lines: string[], code: string, param: string | null][] = [
    ['no Host', ['GET /api/v1/me HTTP/1.1', last], 'missing_field', 'Host'],
    ['two Hosts', ['GET /api/v1/me HTTP/1.1', 'Host: a.example', 'host: b.example', last], 'invalid_value', 'Host'],
    ['two equal Hosts', ['GET /p/x HTTP/1.1', 'Host: a.example', 'Host: a.example', last], 'invalid_value', 'Host'],
    [
      'two Hosts in one header',
      ['GET /api/v1/me HTTP/1.1', 'Host: a.example, b.example', last],
      'invalid_value',
      'Host',
    ],
    ['a Host with a path', ['GET /api/v1/me HTTP/1.1', 'Host: a.example/x', last], 'invalid_value', 'Host'],
    ['no Host at a signed URL', ['GET /blobs/x HTTP/1.1', last], 'missing_field', 'Host'],
    ['an expectation', ['GET /api/v1/me HTTP/1.1', 'Host: a', 'Expect: a-miracle', last], 'invalid_value', 'Expect'],
    [
      'two credentials',
      ['GET /api/v1/me HTTP/1.1', 'Host: a', 'Authorization: Bearer a', 'Authorization: Bearer b', last],
      'multiple_credentials',
      null,
    ],
  ];

  test.each(cases)('%s', async (_, lines, code, param) => {
    const answer = await raw(...lines);
    expect([answer.status, answer.body.error]).toEqual([400, expect.objectContaining({ code, param })]);
    expect(answer.headers).toMatch(/^X-Request-Id: req_/im);
    expect(answer.headers).toMatch(/^Content-Type: application\/json/im);
  });

  test('CONNECT gets it too', async () => {
    const answer = await raw('CONNECT a.example:443 HTTP/1.1', 'Host: a.example:443');
    expect([answer.status, answer.body.error?.code]).toEqual([400, 'invalid_value']);
  });

  test('a request with an old version, or an expectation that can be met, is served', async () => {
    expect((await raw('GET /health/live HTTP/1.0')).status).toBe(200);
    const met = await raw('GET /health/live HTTP/1.1', 'Host: a', 'Expect: 100-continue', last);
    expect([met.status, met.text]).toEqual([100, expect.stringContaining('HTTP/1.1 200 OK')]);
  });
});

test('a restricted page disappears from its publication with the response', async () => {
  const { data: workspace } = await owner.post<Workspace>('/workspaces', { name: 'Published' });
  const make = async (body: object) =>
    (await owner.post<Resource>('/resources', { workspace_id: workspace.id, ...body })).data;
  for (let round = 0; round < 10; round++) {
    const folder = await make({ type: 'folder', name: `Round ${round}` });
    const page = await make({ type: 'document', name: 'Inner', content: 'Some words.', parent_id: folder.id });
    const { data } = await owner.post<{ url: string }>(`/resources/${folder.id}/publish`, { visibility: 'public' });
    const { pathname } = new URL(data.url);
    const front = await (await fetch(system.baseUrl + pathname)).text();
    const inner = system.baseUrl + (new RegExp(`href="(${pathname}/[^"#?]+)"`).exec(front)?.[1] ?? '');
    expect((await fetch(inner)).status).toBe(200);
    expect((await fetch(inner)).status).toBe(200);
    const { status } = await owner.patch(`/resources/${page.id}`, { access_mode: 'restricted' });
    expect([status, (await fetch(inner)).status]).toEqual([200, 404]);
    const head = await fetch(system.baseUrl + pathname);
    expect([head.status, (await head.text()).includes('Inner')]).toEqual([200, false]);
    await owner.patch(`/resources/${folder.id}`, { access_mode: 'restricted' });
    expect((await fetch(system.baseUrl + pathname)).status).toBe(404);
  }
});

test('the keys of a deleted Org are invalid from its response on', async () => {
  const { data: org } = await owner.post<{ id: string }>('/orgs', { name: 'Short-lived' });
  const made = await owner.post<{ key: string }>(
    '/api-keys',
    { name: 'Of the Org', type: 'org', scopes: ['org:read', 'workspace:read'] },
    { headers: { 'X-Tenant': org.id } },
  );
  expect(made.status).toBe(201);
  const key: Api = api(system, made.data.key);
  await eventually(async () => expect((await key.get('/workspaces')).status).toBe(200));
  expect((await owner.del(`/orgs/${org.id}`)).status).toBe(200);
  const after = await key.get('/workspaces');
  expect([after.status, after.error.code]).toEqual([401, 'suspended_key']);
});
