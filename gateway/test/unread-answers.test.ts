import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { sendInTurns } from '@commonplace/kit/slices';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import Koa from 'koa';
import { answerErrors } from '../src/middleware/errors.js';
import { createRateGate } from '../src/middleware/rate-limit.js';
import type { State } from '../src/middleware/state.js';
import { limitUnreadAnswers } from '../src/middleware/unread-answers.js';
import { parseRateLimits } from '../src/rate-limits.js';
import { type HttpServer, openHttpServer } from '../src/server.js';

const MIB = 1024 * 1024;
const LIMIT = 24 * MIB;
/** More than the operating system buffers for a connection whose client does not read. */
const LARGE = Buffer.alloc(16 * MIB, 'a');

function sendEvents(ctx: Koa.ParameterizedContext<State>): void {
  ctx.state.streamsEvents = true;
  const events = new Readable({ read() {} });
  events.push('retry: 2000\n\n');
  ctx.body = events;
}

let server: HttpServer;
let open: Socket[];

beforeEach(async () => {
  open = [];
  const app = new Koa<State>();
  app.silent = true;
  const log = { error() {} } as never;
  app.use((ctx, next) => {
    Object.assign(ctx.state, { requestId: 'req_a', clientNetwork: ctx.get('X-Network') || 'a' });
    return next();
  });
  const ignore = { note() {} };
  app.use(answerErrors({ publicUrl: 'http://localhost', denials: ignore, refusals: ignore, log }));
  app.use(limitUnreadAnswers(LIMIT));
  app.use(createRateGate(parseRateLimits('concurrent=3'))({ limits: [], scope: 'public' }));
  app.use((ctx) => {
    ctx.set('ETag', '"a"');
    if (ctx.path === '/small') ctx.body = 'small';
    else if (ctx.path === '/events') sendEvents(ctx);
    else Object.assign(ctx, { body: sendInTurns([LARGE]), length: LARGE.length });
  });
  server = await openHttpServer(app as Koa, '127.0.0.1', 0);
});
afterEach(async () => {
  for (const socket of open) socket.destroy();
  await server.close(0);
});

/** Sends a request whose answer is not read. Resolves with its status once the headers have arrived. */
async function leaveUnread(path = '/large', network = 'a', method = 'GET'): Promise<[number, Socket]> {
  const socket = connect(server.port, '127.0.0.1');
  open.push(socket);
  socket.on('error', () => {});
  socket.write(`${method} ${path} HTTP/1.1\r\nHost: localhost\r\nX-Network: ${network}\r\nContent-Length: 0\r\n\r\n`);
  await new Promise((resolve) => socket.once('readable', resolve));
  const head = String(socket.read(64));
  return [Number(head.split(' ')[1]), socket];
}

const ask = async (path: string, network = 'a') =>
  fetch(`http://127.0.0.1:${server.port}${path}`, { headers: { 'X-Network': network } });

async function outcomeOf(answer: Response): Promise<string> {
  const text = await answer.text();
  if (answer.status === 200) return `200 ${text.length}`;
  return `${answer.status} ${JSON.parse(text).error.details.policy} ${answer.headers.get('etag')}`;
}

async function eventually(check: () => Promise<void>): Promise<void> {
  for (let i = 0; ; i++) {
    try {
      return await check();
    } catch (error) {
      if (i === 100) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

describe('answers that clients do not read', () => {
  test('are limited in bytes for each network, but not small answers, writes and others', async () => {
    expect((await leaveUnread())[0]).toBe(200);
    const [status, last] = await leaveUnread();
    expect(status).toBe(200);
    expect(await outcomeOf(await ask('/large'))).toBe('429 unread null');
    expect(await outcomeOf(await ask('/small'))).toBe('200 5');
    expect((await leaveUnread('/large', 'a', 'POST'))[0]).toBe(200);
    expect(await outcomeOf(await ask('/large', 'b'))).toBe(`200 ${LARGE.length}`);
    expect(last.destroyed).toBe(false);
  });

  test('count until they have been read, or their client has left', async () => {
    const [, first] = await leaveUnread();
    const [, second] = await leaveUnread();
    expect(await outcomeOf(await ask('/large'))).toBe('429 unread null');
    first.destroy();
    await eventually(async () => expect(await outcomeOf(await ask('/large'))).toBe(`200 ${LARGE.length}`));
    second.resume();
    await eventually(async () => expect((await leaveUnread())[0]).toBe(200));
  });

  test('are requests in progress, unlike streams of events', async () => {
    for (let i = 0; i < 5; i++) await leaveUnread('/events');
    for (let i = 0; i < 3; i++) expect((await leaveUnread('/large', 'c', 'POST'))[0]).toBe(200);
    expect(await outcomeOf(await ask('/small', 'c'))).toBe('429 concurrent null');
    open.at(-1)?.destroy();
    await eventually(async () => expect(await outcomeOf(await ask('/small', 'c'))).toBe('200 5'));
  });
});
