import { type IncomingHttpHeaders, request } from 'node:http';
import { connect } from 'node:net';
import { ICON } from '@commonplace/site/page';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ADA, type AuthStage, openAuthStage, signedIn } from './auth-stage.js';

const HOST = 'wiki.example.com';

let stage: AuthStage;
beforeAll(async () => {
  stage = await openAuthStage(`https://${HOST}`);
});
afterAll(() => stage.close());

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Sends a request with a Host header of its own, which `fetch` does not allow. */
function ask(path: string, { method = 'GET', host = HOST, headers = {} } = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(stage.baseUrl + path, { method, headers: { ...headers, host } }, (answer) => {
      let body = '';
      answer.setEncoding('utf8').on('data', (text: string) => {
        body += text;
      });
      answer.on('end', () => resolve({ status: answer.statusCode, headers: answer.headers, body }));
    });
    outgoing.on('error', reject).end();
  });
}

/** Sends bytes that are not a valid request. */
function askRaw(text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(stage.baseUrl).port), '127.0.0.1', () => socket.write(text));
    let answer = '';
    socket.setEncoding('utf8').on('data', (piece: string) => {
      answer += piece;
    });
    socket.on('error', reject).on('close', () => resolve(answer));
  });
}

const PATHS: [path: string, status: number][] = [
  ['/api/v1/me', 401],
  ['/api/v1/openapi.json', 200],
  ['/api/v1/nothing', 401],
  ['/auth/session', 401],
  ['/auth/sign-in', 200],
  ['/auth/sign-up', 200],
  ['/docs', 200],
  ['/docs/errors', 200],
  ['/docs/init.js', 200],
  ['/docs/changelog', 200],
  ['/health/live', 200],
  ['/nothing', 404],
  [ICON.path, 200],
];

describe('every answer', () => {
  test.each(PATHS)('of %s (%i) limits what a browser may do with it', async (path, status) => {
    const answer = await ask(path);
    expect(answer.status).toBe(status);
    expect(answer.headers['strict-transport-security']).toBe('max-age=31536000; includeSubDomains');
    expect(answer.headers['x-content-type-options']).toBe('nosniff');
    expect(answer.headers['referrer-policy']).toMatch(/^(no-referrer|strict-origin|same-origin)$/);
    const policy = String(answer.headers['content-security-policy']).split('; ');
    expect(policy).toEqual(
      expect.arrayContaining(["default-src 'none'", "object-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"]),
    );
    expect(policy.join()).not.toMatch(/unsafe|\*|http:/);
  });

  test.each(PATHS)('of %s (%i) has a content type, and a charset if it is text', async (path) => {
    const { headers } = await ask(path);
    expect(headers['content-type']).toMatch(/^(text\/|application\/json|image\/svg\+xml).*; charset=utf-8$/);
  });

  test("under a customer's domain does not apply to its subdomains", async () => {
    const { headers } = await ask('/health/live', { host: 'docs.customer.example' });
    expect(headers['strict-transport-security']).toBe('max-age=31536000');
  });

  test('to an invalid request has them as well', async () => {
    const answer = await askRaw('NONSENSE\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toMatch(/^X-Content-Type-Options: nosniff\r$/m);
    expect(answer).toMatch(/^Strict-Transport-Security: max-age=31536000\r$/m);
    expect(answer).toMatch(/^Content-Security-Policy: default-src 'none';/m);
    expect(answer).toMatch(/^Cache-Control: no-store\r$/m);
  });
});

test.each(['/api/v1/me', '/auth/sign-in', '/docs', '/nothing'])('TRACE %s does not echo the request', async (path) => {
  const answer = await ask(path, {
    method: 'TRACE',
    headers: { 'x-canary': 'canary-8341', cookie: 'a=canary-8341' },
  });
  expect(answer.status).toBeGreaterThanOrEqual(400);
  expect(JSON.stringify(answer)).not.toContain('canary-8341');
});

test('a request with two lengths is refused, and what follows it is not parsed as another', async () => {
  const lines = ['POST /auth/sign-in HTTP/1.1', `Host: ${HOST}`, 'Content-Length: 4', 'Transfer-Encoding: chunked'];
  const answer = await askRaw(`${lines.join('\r\n')}\r\n\r\n0\r\n\r\nGET /health/live HTTP/1.1\r\nHost: a\r\n\r\n`);
  expect(answer.match(/^HTTP\/1\.1 \d+/gm)).toEqual(['HTTP/1.1 400']);
});

test.each(['/docs/', '/assets/', '/assets', '/auth/', '/health/', '/blobs/', '/.git/HEAD', '/package.json'])(
  '%s lists and reveals no files',
  async (path) => {
    const { status, body } = await ask(path);
    if (status === 200) expect(body).toContain('id="explorer"');
    else expect([404, 405]).toContain(status);
    expect(body).not.toMatch(/node_modules|index of|refs\/heads|"workspaces"/i);
  },
);

describe('the data that a browser stores about a person', () => {
  test.each(['json', 'form'] as const)('is cleared by signing out (%s)', async (how) => {
    const { cookie, csrf } = await signedIn(stage);
    const answer =
      how === 'json'
        ? await stage.json('/auth/sign-out', {}, { cookie, 'X-CSRF-Token': csrf })
        : await stage.form('/auth/sign-out', { csrf }, { cookie });
    expect([200, 303]).toContain(answer.status);
    expect(answer.headers.get('clear-site-data')).toBe('"cache", "storage"');
    expect(answer.headers.get('set-cookie')).toMatch(/^__Host-session=; Path=\/; Max-Age=0;/);
  });

  test('is cleared when its session is over', async () => {
    const answer = await stage.get('/auth/session', { cookie: '__Host-session=worth-nothing' });
    expect([answer.status, answer.headers.get('clear-site-data')]).toEqual([401, '"cache", "storage"']);
  });

  test('stays during a session, in which no response is stored', async () => {
    const { cookie } = await signedIn(stage);
    for (const path of ['/auth/session', '/api/v1/me', '/auth/sign-in', '/auth/sign-out']) {
      const answer = await stage.get(path, { cookie });
      expect([path, answer.headers.get('clear-site-data')]).toEqual([path, null]);
      expect([path, answer.headers.get('cache-control')]).toEqual([path, expect.stringMatching(/no-store|^private/)]);
    }
  });
});

test('an unexpected failure reveals nothing about its cause', async () => {
  stage.identity.failures.set('signIn', new Error('SELECT secret FROM users at /srv/app/db.ts:12'));
  const answer = await stage.json('/auth/sign-in', { email: ADA.email, password: ADA.password });
  const text = await answer.text();
  expect(answer.status).toBe(500);
  expect(text).not.toMatch(/SELECT|\/srv|\.ts|stack/);
  expect((JSON.parse(text) as { error: { code: string } }).error.code).toBe('internal_error');
});
