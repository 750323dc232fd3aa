import { gzipSync } from 'node:zlib';
import { AnswerLost, AppError, Timeout } from '@commonplace/kit/errors';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { ADA, type AuthStage, cookieIn, openAuthStage, signedIn, TOKEN } from './auth-stage.js';

const PUBLIC = 'https://wiki.example.com';
const BOB = { email: 'bob@example.com', password: 'correct horse', name: 'Bob' };
const COMPRESSED = { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' };
const GOOD = { email: ADA.email, password: ADA.password };

let stage: AuthStage;
beforeAll(async () => {
  stage = await openAuthStage(PUBLIC);
});
afterAll(() => stage.close());
beforeEach(() => {
  stage.identity.calls.length = 0;
});

const bodyOf = async (answer: Response) => (await answer.json()) as Record<string, never>;
const errorOf = async (answer: Response) => {
  const { error } = (await answer.json()) as { error: { code: string; details: { param: string; code: string }[] } };
  return { status: answer.status, code: error.code, details: error.details };
};
const rpcs = () => stage.identity.calls.map(({ rpc }) => rpc);

describe('signing up and in by JSON', () => {
  test('returns the person and the CSRF token, and keeps the session for the cookie', async () => {
    const answer = await stage.json('/auth/sign-up', BOB);
    expect(answer.status).toBe(201);
    const text = await answer.text();
    const { data, request_id } = JSON.parse(text) as Record<string, Record<string, unknown>>;
    expect(request_id).toMatch(/^req_/);
    expect(data).toEqual({
      user: { id: expect.any(String), ...BOB, password: undefined, avatar_url: null, locale: 'en', timezone: 'UTC' },
      csrf_token: expect.stringMatching(/^csrf-of-/),
      expires_at: expect.stringMatching(/Z$/),
    });
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(text).not.toContain(cookieIn(answer)?.value);
    expect((await stage.json('/auth/sign-in', GOOD)).status).toBe(200);
  });

  test('sets a cookie that scripts, other sites and plain http do not get, until the session ends', async () => {
    const cookie = cookieIn(await stage.json('/auth/sign-in', GOOD));
    expect(cookie?.header).toMatch(/^__Host-session=\w+$/);
    expect(cookie?.attributes.filter((each) => !each.startsWith('Max-Age'))).toEqual([
      'Path=/',
      'HttpOnly',
      'SameSite=Lax',
      'Secure',
    ]);
    const maxAge = Number(cookie?.attributes.find((each) => each.startsWith('Max-Age='))?.slice(8));
    expect(maxAge).toBeGreaterThan(29 * 86_400);
    expect(maxAge).toBeLessThanOrEqual(30 * 86_400);
  });

  test("passes the client's address to identity", async () => {
    await stage.json('/auth/sign-in', GOOD);
    expect(stage.identity.calls[0]).toEqual({
      rpc: 'signIn',
      request: { ...GOOD, clientIp: '127.0.0.1', userAgent: 'node', code: '' },
    });
  });

  test('ends the previous session of the browser', async () => {
    const { cookie, session } = await signedIn(stage);
    await stage.json('/auth/sign-in', GOOD, { cookie });
    expect(stage.identity.sessions.has(session)).toBe(false);
  });

  test('passes on warnings of identity', async () => {
    stage.identity.warnings = [{ code: 'sign_up_unsettled', message: 'Not all is set up.' }];
    const answer = await bodyOf(await stage.json('/auth/sign-up', { ...BOB, email: 'carol@example.com' }));
    expect(answer.warnings).toEqual(stage.identity.warnings);
    stage.identity.warnings = undefined;
  });

  test('passes on refusals with their status', async () => {
    expect(await errorOf(await stage.json('/auth/sign-in', { ...GOOD, password: 'wrong' }))).toMatchObject({
      status: 401,
      code: 'invalid_credentials',
    });
    const taken = await stage.json('/auth/sign-up', ADA);
    expect(await errorOf(taken)).toMatchObject({ status: 409, code: 'already_exists' });
    expect(cookieIn(taken)).toBeUndefined();
    stage.identity.failures.set(
      'signIn',
      new AppError('RESOURCE_EXHAUSTED', 'rate_limited', 'Wait.', { retryAfter: 77 }),
    );
    const throttled = await stage.json('/auth/sign-in', GOOD);
    expect(throttled.headers.get('retry-after')).toBe('77');
    expect(throttled.status).toBe(429);
  });
});

describe('a posted body', () => {
  test('is validated by the contract, all errors at once', async () => {
    const answer = await errorOf(
      await stage.json('/auth/sign-up', { email: 'nobody', password: 'short', client_ip: '192.0.2.1', x: 1 }),
    );
    expect(answer).toMatchObject({ status: 400, code: 'validation_failed' });
    expect(answer.details.map(({ param, code }) => `${param} ${code}`)).toEqual([
      'email invalid_value',
      'password invalid_value',
      'client_ip unknown_field',
      'x unknown_field',
      'name missing_field',
    ]);
    expect(rpcs()).toEqual([]);
  });

  test.each<[string, string, RequestInit]>([
    ['a number for a text', 'invalid_type', { body: '{"email":"a@b","password":1}' }],
    ['no JSON', 'invalid_json', { body: 'email=a' }],
    ['a key twice', 'invalid_json', { body: '{"email":"a@b","email":"c@d"}' }],
    ['JSON as text', 'unsupported_media_type', { body: '{}', headers: { 'Content-Type': 'text/plain' } }],
    ['JSON that is compressed', 'unsupported_media_type', { body: gzipSync('{}'), headers: COMPRESSED }],
    ['a form with parts', 'unsupported_media_type', { body: new FormData(), headers: {} }],
    ['a body that is too large', 'payload_too_large', { body: JSON.stringify({ email: 'a'.repeat(70_000) }) }],
  ])('%s is %s', async (_, code, init) => {
    const headers = { 'Content-Type': 'application/json' };
    const answer = await fetch(`${stage.baseUrl}/auth/sign-in`, { method: 'POST', headers, ...init });
    expect(await errorOf(answer)).toMatchObject({ status: 400, code });
  });

  test('must not have a query', async () => {
    expect(await errorOf(await stage.json('/auth/sign-in?email=a', GOOD))).toMatchObject({ code: 'unknown_parameter' });
  });

  test('accepts an invitation by body or by the query of its link', async () => {
    const tokens = async (path: string, more: object, email: string) => {
      const answer = await stage.json(path, { ...BOB, email, ...more });
      const { request } = stage.identity.calls.findLast(({ rpc }) => rpc === 'signUp') ?? { request: {} };
      return [answer.status, (request as { invitationToken?: string }).invitationToken];
    };
    expect(await tokens('/auth/sign-up', { invitation_token: TOKEN }, 'd@example.com')).toEqual([201, TOKEN]);
    expect(await tokens('/auth/sign-up?invite=abc', {}, 'e@example.com')).toEqual([201, 'abc']);
    expect(
      await errorOf(await stage.json('/auth/sign-up?invite=abc', { ...BOB, invitation_token: TOKEN })),
    ).toMatchObject({ code: 'ambiguous_target' });
  });
});

describe('a request from a page of another site', () => {
  test.each([
    [{ Origin: 'https://evil.example' }],
    [{ Origin: 'null' }],
    [{ Origin: 'https://wiki.example.com.evil.example' }],
    [{ Origin: 'http://wiki.example.com' }],
    [{ 'Sec-Fetch-Site': 'cross-site' }],
  ])('is refused: %j', async (headers) => {
    for (const [path, body] of [
      ['/auth/sign-in', GOOD],
      ['/auth/sign-up', BOB],
      ['/auth/sign-out', {}],
      ['/auth/accept-invitation', { token: TOKEN }],
    ] as const) {
      expect(await errorOf(await stage.json(path, body, headers))).toMatchObject({ status: 403, code: 'csrf_failed' });
    }
    expect(rpcs()).toEqual([]);
  });

  test('is distinguished from a request from our own page', async () => {
    const own = { Origin: PUBLIC, 'Sec-Fetch-Site': 'same-origin' };
    expect((await stage.json('/auth/sign-in', GOOD, own)).status).toBe(200);
  });

  test('is distinguished from a request from this machine under its other name', async () => {
    const local = await openAuthStage('http://127.0.0.1:8080');
    try {
      const from = async (origin: string) => (await local.json('/auth/sign-in', GOOD, { Origin: origin })).status;
      expect(await from('http://localhost:8080')).toBe(200);
      expect(await from('http://localhost:9999')).toBe(403);
      const { cookie: held, csrf } = await signedIn(local);
      const write = async (origin: string) =>
        (await local.json('/api/v1/orgs', { name: 'A' }, { Origin: origin, cookie: held, 'X-CSRF-Token': csrf }))
          .status;
      expect([await write('http://localhost:8080'), await write('http://localhost:9999')]).toEqual([201, 403]);
      const cookie = cookieIn(await local.json('/auth/sign-in', GOOD));
      expect(cookie?.header).toMatch(/^session=/);
      expect(cookie?.attributes).not.toContain('Secure');
    } finally {
      await local.close();
    }
  });
});

describe('a session', () => {
  test('is returned with its CSRF token', async () => {
    const { cookie, csrf } = await signedIn(stage);
    const answer = await stage.get('/auth/session', { cookie });
    expect(await bodyOf(answer)).toMatchObject({ data: { user: { email: ADA.email }, csrf_token: csrf } });
  });

  test('is a 401 without a cookie, and an invalid cookie is deleted', async () => {
    expect(await errorOf(await stage.get('/auth/session'))).toMatchObject({ status: 401, code: 'missing_credentials' });
    const dead = await stage.get('/auth/session', { cookie: `${stage.cookieName}=dead` });
    expect(cookieIn(dead)).toMatchObject({ value: '', attributes: expect.arrayContaining(['Max-Age=0', 'Secure']) });
    expect(dead.status).toBe(401);
  });

  test('is ended only with its CSRF token', async () => {
    const { cookie, csrf, session } = await signedIn(stage);
    for (const token of ['', 'another']) {
      const headers = { cookie, 'X-CSRF-Token': token };
      expect(await errorOf(await stage.json('/auth/sign-out', {}, headers))).toMatchObject({
        status: 403,
        code: 'csrf_failed',
      });
    }
    expect(stage.identity.sessions.has(session)).toBe(true);
    const answer = await fetch(`${stage.baseUrl}/auth/sign-out`, {
      method: 'POST',
      headers: { cookie, 'X-CSRF-Token': csrf },
    });
    expect(await bodyOf(answer)).toMatchObject({ data: { signed_out: true } });
    expect(cookieIn(answer)?.attributes).toContain('Max-Age=0');
    expect(stage.identity.sessions.has(session)).toBe(false);
  });

  test('ends at once for the API, which caches credentials', async () => {
    const { cookie, csrf } = await signedIn(stage);
    expect((await stage.get('/api/v1/me', { cookie })).status).toBe(200);
    await stage.json('/auth/sign-out', {}, { cookie, 'X-CSRF-Token': csrf });
    stage.identity.calls.length = 0;
    expect((await stage.get('/api/v1/me', { cookie })).status).toBe(401);
    expect(rpcs()).toEqual([]);
  });
});

describe('an invitation', () => {
  test('is accepted for the signed-in person', async () => {
    const { cookie, csrf, session } = await signedIn(stage);
    const headers = { cookie, 'X-CSRF-Token': csrf };
    const answer = await stage.json('/auth/accept-invitation', { token: TOKEN }, headers);
    expect(await bodyOf(answer)).toMatchObject({ data: { org_id: null, workspace_id: 'a-workspace' } });
    expect(stage.identity.calls.at(-1)?.request).toEqual({ session, invitationToken: TOKEN });
  });

  test('needs a session, its CSRF token and a valid token', async () => {
    const { cookie, csrf } = await signedIn(stage);
    const headers = { cookie, 'X-CSRF-Token': csrf };
    const outcome = async (body: object, sent: Record<string, string>) => {
      const { status, code } = await errorOf(await stage.json('/auth/accept-invitation', body, sent));
      return `${status} ${code}`;
    };
    expect(await outcome({ token: TOKEN }, {})).toBe('401 missing_credentials');
    expect(await outcome({ token: TOKEN }, { cookie })).toBe('403 csrf_failed');
    expect(await outcome({}, headers)).toBe('400 missing_field');
    expect(await outcome({ token: TOKEN, session: 'x' }, headers)).toBe('400 unknown_field');
    expect(await outcome({ token: 'other' }, headers)).toBe('404 expired_link');
  });
});

test('the metadata of the protected resource is public', async () => {
  const answer = (await bodyOf(await stage.get('/.well-known/oauth-protected-resource'))) as Record<string, unknown>;
  expect(answer).toMatchObject({ resource: PUBLIC, bearer_methods_supported: ['header'] });
  expect(answer.scopes_supported).toContain('resource:read');
});

test('/ describes this server, and its links are valid', async () => {
  const page = await stage.get('/', { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' });
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  const html = await page.text();
  for (const path of ['/auth/sign-in', '/docs', '/api/v1/openapi.json', '/health/ready']) {
    expect(html).toContain(`href="${path}"`);
    expect((await stage.get(path)).status).toBe(200);
  }
  const { data } = await bodyOf(await stage.get('/', { Accept: 'application/json' }));
  expect(data).toMatchObject({ links: { sign_in: '/auth/sign-in', docs: '/docs', health: '/health/ready' } });
  expect((await stage.get('/nothing')).status).toBe(404);
});

describe('the OpenAPI document', () => {
  interface Description {
    paths: Record<
      string,
      Record<string, { responses: Record<string, { content: Record<string, { schema: object }> }> }>
    >;
    components: object;
  }
  const described = async () => (await (await stage.get('/api/v1/openapi.json')).json()) as Description;

  test('describes routes that exist', async () => {
    const { paths } = await described();
    const handWritten = Object.entries(paths).filter(([path]) => !path.startsWith('/api/v1/'));
    expect(handWritten.length).toBeGreaterThan(20);
    for (const [path, operations] of handWritten) {
      for (const method of Object.keys(operations)) {
        const answer = await fetch(stage.baseUrl + path.replaceAll(/[{}]/g, ''), { method: method.toUpperCase() });
        const { error } = (await answer.json()) as { error?: { code: string } };
        expect([method, path, error?.code]).not.toEqual([method, path, 'route_not_found']);
      }
    }
  });

  test('describes how to begin, read and end sessions', async () => {
    const { paths, components } = await described();
    const matches = async (path: string, method: string, answer: Response) => {
      const schema = paths[path]?.[method]?.responses[answer.status]?.content['application/json']?.schema;
      const ajv = new Ajv2020({ strict: false, validateFormats: false });
      const body = await answer.json();
      expect([path, ajv.validate({ ...schema, components }, body), ajv.errors]).toEqual([path, true, null]);
      expect(schema).toBeDefined();
    };
    const { cookie, csrf } = await signedIn(stage);
    const headers = { cookie, 'X-CSRF-Token': csrf };
    await matches('/auth/sign-in', 'post', await stage.json('/auth/sign-in', GOOD));
    await matches('/auth/sign-up', 'post', await stage.json('/auth/sign-up', { ...BOB, email: 'dan@example.com' }));
    await matches('/auth/session', 'get', await stage.get('/auth/session', { cookie }));
    await matches(
      '/auth/accept-invitation',
      'post',
      await stage.json('/auth/accept-invitation', { token: TOKEN }, headers),
    );
    await matches('/auth/sign-out', 'post', await stage.json('/auth/sign-out', {}, headers));
    await matches('/health/live', 'get', await stage.get('/health/live'));
    await matches('/health/ready', 'get', await stage.get('/health/ready'));
  });
});

describe('a request whose caller identity does not answer for', () => {
  const create = () => stage.json('/api/v1/workspaces', { name: 'Notes' }, { Authorization: 'Bearer wsk_a' });

  test('has not begun, and may be repeated', async () => {
    stage.identity.failures.set('authenticate', Timeout());
    const answer = await create();
    expect([answer.headers.get('retry-after'), await errorOf(answer)]).toEqual([
      '1',
      { status: 503, code: 'service_unavailable', details: {} },
    ]);
    expect(rpcs()).toEqual(['authenticate']);
  });

  test('is asked for again if the process died before its answer', async () => {
    stage.identity.failures.set('authenticate', AnswerLost());
    expect((await create()).status).toBeLessThan(300);
    expect(rpcs()).toEqual(['authenticate', 'authenticate']);
  });
});
