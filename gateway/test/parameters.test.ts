import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import Koa from 'koa';
import { limitAccept } from '../src/middleware/accept.js';
import { parseQueries } from '../src/middleware/query.js';
import { type AuthStage, openAuthStage } from './auth-stage.js';

describe('parameters of a query', () => {
  let stage: AuthStage;
  beforeAll(async () => {
    stage = await openAuthStage('http://wiki.example.com');
  });
  afterAll(() => stage.close());

  test.each(['/api/v1/me', '/auth/sign-in', '/health/live', '/nope'])(
    'are limited in number before anything reads them: %s',
    async (path) => {
      const answer = await stage.get(`${path}?${'&a'.repeat(30_000)}`);
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({
        error: { code: 'invalid_value', message: 'A query has 1000 parameters or fewer.', details: { limit: 1000 } },
      });
    },
  );

  test('may be as many as the limit', async () => {
    expect((await stage.get(`/auth/sign-in?${'a=b&'.repeat(999)}a=b`)).status).toBe(200);
    expect((await stage.get(`/auth/sign-in?${'a=b&'.repeat(1000)}a=b`)).status).toBe(400);
  });
});

describe('headers that negotiate', () => {
  let stage: AuthStage;
  beforeAll(async () => {
    stage = await openAuthStage('http://wiki.example.com');
  });
  afterAll(() => stage.close());
  const quoted = (commas: number) => `text/html;q="${','.repeat(commas)}`;

  test.each([
    ['Accept', quoted(30_000)],
    ['Accept-Language', ',en'.repeat(20_000)],
  ])('are refused if they are long: %s', async (name, value) => {
    const answer = await stage.get('/docs', { [name]: value });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ error: { code: 'invalid_value', param: name } });
  });

  test('may have as many characters as the limit', async () => {
    expect((await stage.get('/auth/sign-in', { Accept: quoted(4000) })).status).toBe(200);
    expect((await stage.get('/auth/sign-in', { 'Accept-Language': ',en'.repeat(1300) })).status).toBe(200);
  });

  test('are not read for the refusal', async () => {
    const headers = { accept: quoted(30_000), 'accept-language': ',en'.repeat(10_000), host: 'wiki.example.com' };
    const pass = () => Promise.resolve();
    expect(() => limitAccept()({ req: { headers } } as unknown as Koa.Context, pass)).toThrow('Accept has');
    expect(headers).toEqual({ host: 'wiki.example.com' });
  });
});

test('parameters are parsed in proportion to their number', () => {
  const app = new Koa();
  parseQueries(app);
  const queryOf = (url: string) => Object.assign(Object.create(app.request), { req: { url } }).query;
  expect({ ...queryOf('/?a=1&b=%C3%A4+x&a=&c&%zz=%ff&__proto__=p') }).toEqual({
    a: ['1', ''],
    b: 'ä x',
    c: '',
    '%zz': '\u{FFFD}',
    ['__proto__']: 'p',
  });
  expect(queryOf('/a').a).toBeUndefined();
  const since = process.cpuUsage();
  const { a } = queryOf(`/?${'a&'.repeat(30_000)}`);
  expect(a).toHaveLength(1000);
  expect(process.cpuUsage(since).user).toBeLessThan(1_000_000);
});

test('a query that a route rewrites is parsed again', () => {
  const app = new Koa();
  parseQueries(app);
  const request = Object.assign(Object.create(app.request), { req: { url: '/?a=1' } }) as Koa.Request;
  const first = request.query;
  expect([first.a, request.query === first]).toEqual(['1', true]);
  request.req.url = '/?a=2';
  expect(request.query.a).toBe('2');
});
