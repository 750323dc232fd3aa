import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import Koa from 'koa';
import { type HttpServer, openHttpServer } from '../src/server.js';

const HEADERS_MS = 500;
const GET = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n';

let server: HttpServer;
let begun: string[];
beforeEach(async () => {
  begun = [];
  const app = new Koa();
  app.use(async (ctx) => {
    begun.push(ctx.path);
    if (ctx.path === '/later') await sleep(300);
    if (ctx.path === '/begun') {
      ctx.respond = false;
      ctx.res.writeHead(200, { 'Content-Length': 100 }).write('begun');
    } else ctx.body = 'done';
  });
  server = await openHttpServer(app, '127.0.0.1', 0, [], HEADERS_MS);
});
afterEach(() => server.close(0));

/**
 * Sends texts, with `pauseMs` before each further one, and never closes its side. Returns what the server sent, and
 * whether it closed the whole connection: a connection that is closed answers what is sent with an error.
 */
async function send(texts: readonly string[], { pauseMs = 0 } = {}) {
  const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true });
  let answer = '';
  let closed = false;
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    answer += chunk;
  });
  socket.once('error', () => {
    closed = true;
  });
  for (const [i, text] of texts.entries()) {
    if (i > 0) await sleep(pauseMs);
    if (!closed) socket.write(text);
  }
  for (let waited = 0; waited < 10_000 && !closed; waited += 100) {
    await sleep(100);
    if (socket.readableEnded && !closed) socket.write('\r\n');
  }
  socket.destroy();
  return { answer, closed };
}

const codeOf = (answer: string) => JSON.parse(answer.slice(answer.indexOf('\r\n\r\n'))).error.code;

describe('a connection whose client never closes it is closed', () => {
  test.each([
    ['headers that do not arrive', ['GET / HTTP/1.1\r\n'], 503, 'timeout'],
    ['no HTTP', ['NONSENSE\r\n\r\n'], 400, 'invalid_value'],
    ['CONNECT', ['CONNECT a:443 HTTP/1.1\r\n\r\n'], 400, 'invalid_value'],
    ['headers that are too large', [`GET / HTTP/1.1\r\nA: ${'a'.repeat(70_000)}`], 400, 'payload_too_large'],
  ])(
    'after %s',
    async (_, texts, status, code) => {
      const { answer, closed } = await send(texts);
      expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
      expect(codeOf(answer)).toBe(code);
      expect(closed).toBe(true);
    },
    15_000,
  );

  test('without a word if it was never used', async () => {
    expect(await send([])).toEqual({ answer: '', closed: true });
  }, 15_000);
});

test('a request whose headers did not arrive in time is not served later', async () => {
  const { answer } = await send(['GET /late HTTP/1.1\r\n', 'Host: localhost\r\n\r\n'], { pauseMs: 2000 });
  expect(answer.match(/HTTP/g)).toHaveLength(1);
  expect(begun).toEqual([]);
}, 15_000);

describe('an invalid request behind another', () => {
  test('is not answered within the answer to that one', async () => {
    const { answer } = await send([GET.replace('/', '/begun'), 'NONSENSE\r\n\r\n'], { pauseMs: 300 });
    expect(answer.endsWith('\r\n\r\nbegun')).toBe(true);
  });

  test('is not answered in place of that one', async () => {
    const { answer } = await send([`${GET.replace('/', '/later')}NONSENSE\r\n\r\n`]);
    expect(answer).toBe('');
    expect(begun).toEqual(['/later']);
  });

  test('is answered once that one has been', async () => {
    const { answer } = await send([GET, 'NONSENSE\r\n\r\n'], { pauseMs: 300 });
    expect(answer.match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 400']);
  });
});

test('a server closes although a client keeps a refused connection open', async () => {
  const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true });
  socket.write('CONNECT a:443 HTTP/1.1\r\n\r\n');
  await new Promise((resolve) => socket.once('data', resolve));
  await server.close(0);
  socket.destroy();
}, 15_000);
