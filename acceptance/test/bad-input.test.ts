import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Attempt } from '../src/attempt.js';
import { attemptsOf } from '../src/attempts.js';
import { api, type Reply } from '../src/client.js';
import { type Endpoint, listEndpoints } from '../src/endpoints.js';
import { type Call, type Row, rows } from '../src/matrix.js';
import { standingSystem } from '../src/standing.js';
import { everythingStored } from '../src/stored.js';
import type { System } from '../src/system.js';
import { createWorld, type World } from '../src/world.js';

let system: System;
let world: World;
let endpoints: ReadonlyMap<string, Endpoint>;

beforeAll(async () => {
  system = await standingSystem();
  world = await createWorld(system);
  endpoints = new Map((await listEndpoints(system)).map((endpoint) => [endpoint.name, endpoint]));
}, 120_000);

/** The first row of each endpoint, which makes a valid request. */
const names = [...new Set(rows.map(({ endpoint }) => endpoint))];
/** Returns the first segment of an endpoint's path below `/api/v1`. */
const areaOf = (name: string) => name.split('/')[3] as string;
const rowOf = (name: string) => rows.find(({ endpoint }) => endpoint === name) as Row;

/** The statuses of client errors (api: 4). */
const DOCUMENTED: ReadonlySet<number> = new Set([400, 401, 403, 404, 409, 429]);

/** Describes a deviation in one line. */
async function judge(attempt: Attempt): Promise<string[]> {
  const { method, path, body, headers, about } = attempt;
  const say = (what: string) => [`${method} ${path.slice(0, 120)} — ${about}: ${what}`];
  let reply: Reply<unknown>;
  try {
    reply = await world.boss.send(method, path, body, headers === undefined ? {} : { headers });
  } catch (error) {
    return say(`no answer: ${String(error)} ${String((error as Error).cause ?? '')}`);
  }
  const { error } = reply.body;
  const right = reply.status === (attempt.status ?? 400) && attempt.codes.includes(error?.code ?? '');
  if (!right) return say(`${reply.status}, not ${attempt.codes.join(' or ')}: ${reply.text.slice(0, 300)}`);
  if (attempt.param !== undefined && !paramsOf(reply).some((param) => param.startsWith(attempt.param ?? ''))) {
    return say(`does not name ${attempt.param}: ${reply.text.slice(0, 300)}`);
  }
  return [];
}

function paramsOf({ body: { error } }: Reply<unknown>): string[] {
  const details = Array.isArray(error?.details) ? (error.details as { param: string }[]) : [];
  return [error?.param ?? '', ...details.map(({ param }) => param)].filter(
    (param) => param !== '' || error?.param === '',
  );
}

describe('invalid requests', () => {
  const right = new Map<string, Call>();

  beforeAll(async () => {
    for (const name of names) right.set(name, await rowOf(name).request(world.closed, world.boss));
  }, 120_000);

  describe.each([...new Set(names.map(areaOf))])('to /%s', (area) => {
    let stored = '';

    beforeAll(async () => {
      stored = await everythingStored(world);
    }, 120_000);

    test.each(names.filter((name) => areaOf(name) === area))('%s refuses them all', async (name) => {
      const wrong: string[] = [];
      const attempts = attemptsOf(endpoints.get(name) as Endpoint, right.get(name) as Call);
      for (const attempt of attempts) wrong.push(...(await judge(attempt)));
      expect(wrong).toEqual([]);
    });

    test('store nothing', async () => {
      expect(await everythingStored(world)).toBe(stored);
    });
  });
});

describe('methods that a path does not support', () => {
  const paths = [...new Set(names.map((name) => name.split(' ')[1] as string))];

  test.each(paths)('%s', async (path) => {
    const has = names.filter((name) => name.endsWith(` ${path}`)).map((name) => name.split(' ')[0] as string);
    const { path: real } = await rowOf(`${has[0]} ${path}`).request(world.closed, world.boss);
    const [bare = ''] = real.split('?');
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND']) {
      if (has.includes(method)) continue;
      const reply = await world.boss.send(method, bare);
      expect([method, reply.status, reply.error.code]).toEqual([method, 404, 'route_not_found']);
      const allow = (reply.headers.get('allow') ?? '').split(/,\s*/).filter((one) => one !== 'HEAD');
      expect(allow.sort()).toEqual([...has].sort());
    }
  });
});

describe('the calls of /auth', () => {
  const calls: [path: string, body: Record<string, unknown>][] = [
    ['/auth/sign-in', { email: 'a@example.com', password: 'long enough' }],
    ['/auth/sign-up', { email: 'a@example.com', password: 'long enough', name: 'Ada' }],
    ['/auth/accept-invitation', { token: 'abc' }],
  ];
  const refused = async (path: string, body: unknown, headers = {}) => {
    const { status, error } = await world.stranger.send('POST', path, body, { headers });
    return `${status} ${error.code}`;
  };

  test.each(calls)('%s', async (path, body) => {
    expect(await refused(path, '{')).toBe('400 invalid_json');
    expect(await refused(path, '[]')).toBe('400 invalid_json');
    expect(await refused(path, `{"a":${'['.repeat(10_000)}`)).toBe('400 invalid_json');
    expect(await refused(path, JSON.stringify(body).replace('}', ',"x":1,"x":2}'))).toBe('400 invalid_json');
    expect(await refused(path, { ...body, admin: true })).toBe('400 unknown_field');
    expect(await refused(path, JSON.stringify(body).replace('}', ',"__proto__":1}'))).toBe('400 unknown_field');
    expect(await refused(path, JSON.stringify(body), { 'Content-Type': 'text/xml' })).toBe(
      '400 unsupported_media_type',
    );
    for (const name of Object.keys(body)) {
      for (const value of [12, {}, [], { $ne: '' }, true, 'a\0b']) {
        expect(await refused(path, { ...body, [name]: value })).toMatch(/^400 /);
      }
      // A token of any length is unknown.
      const tooLong = name === 'token' ? '404 expired_link' : '400 invalid_value';
      expect(await refused(path, { ...body, [name]: 'x'.repeat(5000) })).toBe(tooLong);
    }
    expect(await refused(path, `{"a":"${'x'.repeat(11 << 20)}"}`)).toMatch(/^400 /);
  });

  test('/auth/sign-up requires a password of minimum length, and a name on one line', async () => {
    const person = { email: 'b@example.com', password: 'short', name: 'Ada' };
    expect(await refused('/auth/sign-up', person)).toBe('400 invalid_value');
    expect(await refused('/auth/sign-up', { ...person, password: 'long enough', name: 'A\nB' })).toBe(
      '400 invalid_value',
    );
  });
});

test('a body that exceeds the limit without announcing it is refused', async () => {
  const chunk = new Uint8Array(1 << 20).fill(0x78);
  let sent = 0;
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (sent++ < 12) controller.enqueue(chunk);
      else controller.close();
    },
  });
  const { apiKey } = system.owner;
  const headers = { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json' };
  const answer = await fetch(`${system.baseUrl}/api/v1/search`, {
    method: 'POST',
    headers,
    body: stream,
    duplex: 'half',
  } as RequestInit);
  const { error } = (await answer.json()) as { error: { code: string } };
  expect([answer.status, error.code]).toEqual([400, 'payload_too_large']);
});

test('headers of any size get a documented status', async () => {
  for (const size of [8_000, 20_000, 100_000]) {
    for (const name of ['X-Client-Request-Id', 'Accept-Language', 'X-Custom', 'If-None-Match', 'Origin']) {
      const headers = { [name]: 'x'.repeat(size) };
      const { status } = await api(system, system.owner.apiKey).get('/me', { headers });
      const what = `${name} of ${size} characters: ${status}`;
      expect([what, status < 400 || DOCUMENTED.has(status)]).toEqual([what, true]);
    }
  }
  const tooLong = await api(system, `wsk_p_${'x'.repeat(7000)}`).get('/me');
  expect([tooLong.status, tooLong.error.code]).toEqual([401, 'invalid_credentials']);
});

test('an unknown HTTP method is refused', async () => {
  const { status } = await world.boss.send('FOO', '/me');
  expect(DOCUMENTED.has(status)).toBe(true);
});

test('unknown query parameters of a GET are ignored', async () => {
  const reply = await world.boss.get('/me?unknown=1&__proto__=2&constructor=3&a[b]=c&%24gt=1');
  expect(reply.status).toBe(200);
});

test('a limit that is too large is reduced with a warning', async () => {
  const { page } = await world.boss.get(`/workspaces/${world.closed.workspace.id}/resources?limit=100000`);
  expect(page.limit).toBe(200);
  const search = await world.boss.post('/search', { query: 'words', limit: 1000 });
  expect(search.page.limit).toBe(50);
});
