import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
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

describe('requests that are sent before earlier ones are answered', () => {
  const PIPELINED = 50;

  /** Sends requests on one connection, and returns the paths in the order in which they were answered. */
  async function answersTo(port: number, count: number): Promise<string[]> {
    const socket = connect(port, '127.0.0.1');
    const requests = Array.from({ length: count }, (_, i) => `GET /${i} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    let text = '';
    const ended = new Promise<void>((resolve) => {
      socket.setEncoding('latin1').on('data', (chunk: string) => {
        text += chunk;
        if (text.includes(`<${count - 1}>`)) socket.destroy();
      });
      socket.once('close', resolve).on('error', () => {});
    });
    socket.write(requests.join(''));
    await ended;
    return [...text.matchAll(/<(\d+)>/g)].map(([, path = '']) => path);
  }

  test('are begun one by one, each in another turn of the event loop', async () => {
    let running = 0;
    let most = 0;
    const turns: number[] = [];
    let turn = 0;
    const app = new Koa();
    app.use(async (ctx) => {
      turns.push(turn);
      most = Math.max(most, ++running);
      if (ctx.path === '/7') await nextTurn();
      running--;
      ctx.body = `<${ctx.path.slice(1)}>`;
    });
    const server = await openHttpServer(app, '127.0.0.1', 0);
    const count = () => {
      turn++;
      counting = setImmediate(count);
    };
    let counting = setImmediate(count);
    expect(await answersTo(server.port, PIPELINED)).toEqual(Array.from({ length: PIPELINED }, (_, i) => String(i)));
    clearImmediate(counting);
    expect(most).toBe(1);
    expect(new Set(turns).size).toBe(PIPELINED);
    await server.close(0);
  });

  test('end their connection if they are too many', async () => {
    let begun = 0;
    const app = new Koa();
    app.use((ctx) => {
      begun++;
      ctx.body = `<${ctx.path.slice(1)}>`;
    });
    const server = await openHttpServer(app, '127.0.0.1', 0);
    expect(await answersTo(server.port, 1000)).toEqual([]);
    expect(begun).toBe(1);
    expect(await answersTo(server.port, 1)).toEqual(['0']);
    await server.close(0);
  });
});

test('the first requests of many connections are begun in several turns of the event loop, in their order', async () => {
  const CONNECTIONS = 40;
  const WORK_MS = 3;
  const begun: { path: string; turn: number }[] = [];
  let turn = 0;
  const app = new Koa();
  app.use(async (ctx) => {
    begun.push({ path: ctx.path, turn });
    await Promise.resolve();
    const until = performance.now() + WORK_MS;
    while (performance.now() < until);
    ctx.body = 'done';
  });
  const server = await openHttpServer(app, '127.0.0.1', 0);
  const sockets = await Promise.all(
    Array.from(
      { length: CONNECTIONS },
      () =>
        new Promise<Socket>((resolve) => {
          const socket = connect(server.port, '127.0.0.1', () => resolve(socket)).resume();
        }),
    ),
  );
  // All of them are accepted before the first one sends anything.
  for (let i = 0; i < CONNECTIONS * 2; i++) await nextTurn();
  const count = () => {
    turn++;
    counting = setImmediate(count);
  };
  let counting = setImmediate(count);
  const closed = sockets.map((socket) => new Promise((resolve) => socket.once('close', resolve)));
  for (const [i, socket] of sockets.entries()) {
    socket.write(`GET /${i} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
  }
  await Promise.all(closed);
  clearImmediate(counting);
  await server.close(0);
  expect(begun.map(({ path }) => path)).toEqual(Array.from({ length: CONNECTIONS }, (_, i) => `/${i}`));
  const perTurn = new Map<number, number>();
  for (const { turn: at } of begun) perTurn.set(at, (perTurn.get(at) ?? 0) + 1);
  expect(Math.max(...perTurn.values())).toBeLessThan(4);
});
