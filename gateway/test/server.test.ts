import { request } from 'node:http';
import { expect, test } from '@jest/globals';
import Koa from 'koa';
import { openHttpServer } from '../src/server.js';

test('a closing server finishes running requests, and announces the end of their connections', async () => {
  let finish = () => {};
  let begun = () => {};
  const running = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const app = new Koa();
  app.use(async (ctx) => {
    if (ctx.path === '/slow') {
      begun();
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
    }
    ctx.body = 'done';
  });
  const server = await openHttpServer(app, '127.0.0.1', 0);
  const ask = (path: string) =>
    new Promise<(string | undefined)[]>((resolve, reject) => {
      const options = { host: '127.0.0.1', port: server.port, path, headers: { connection: 'keep-alive' } };
      const outgoing = request(options, (answer) => {
        answer.resume();
        answer.once('end', () => resolve([String(answer.statusCode), answer.headers.connection]));
      });
      outgoing.once('error', reject);
      outgoing.end();
    });
  expect(await ask('/')).toEqual(['200', 'keep-alive']);
  const slow = ask('/slow');
  await running;
  const closed = server.close(5000);
  finish();
  expect(await slow).toEqual(['200', 'close']);
  await closed;
});

test('no header is dropped because of their number', async () => {
  const app = new Koa();
  app.use((ctx) => {
    ctx.body = ctx.get('Authorization');
  });
  const server = await openHttpServer(app, '127.0.0.1', 0);
  const many = Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`x-${i}`, 'a']));
  const text = await new Promise<string>((resolve, reject) => {
    const headers = { ...many, authorization: 'last' };
    request({ host: '127.0.0.1', port: server.port, headers }, (answer) => {
      answer.setEncoding('utf8').once('data', resolve);
    })
      .once('error', reject)
      .end();
  });
  expect(text).toBe('last');
  await server.close(0);
});
