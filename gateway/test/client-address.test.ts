import { silentLog } from '@commonplace/kit/log';
import { describe, expect, test } from '@jest/globals';
import Koa from 'koa';
import { nameRequest } from '../src/middleware/request.js';
import type { State } from '../src/middleware/state.js';

/** Returns the client address that a request is attributed to, by the headers that it carries. */
async function clientOf(trustedProxies: string[], headers: Record<string, string>): Promise<string> {
  const app = new Koa<State>();
  const settings = {
    trustedProxies,
    trustTraceparent: false,
    accessLog: 0,
    ipv6Prefix: 64,
    publicUrl: 'http://127.0.0.1:8080',
    contentUrl: 'http://127.0.0.1:8080',
  };
  app.use(nameRequest(settings, silentLog));
  app.use((ctx) => {
    ctx.body = ctx.state.clientIp;
  });
  const server = app.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  const answer = await fetch(`http://127.0.0.1:${port}/`, { headers });
  const text = await answer.text();
  await new Promise((resolve) => server.close(resolve));
  return text;
}

const FORGED = { 'X-Forwarded-For': '203.0.113.9', Forwarded: 'for=203.0.113.9', 'X-Real-IP': '203.0.113.9' };

describe('the address of a client', () => {
  test('is that of the connection, whatever it claims, if no proxy is listed', async () => {
    expect(await clientOf([], FORGED)).toBe('127.0.0.1');
  });

  test('is that of the connection if its sender is not a listed proxy', async () => {
    expect(await clientOf(['10.0.0.0/8'], FORGED)).toBe('127.0.0.1');
  });

  test('is what the last listed proxy has seen, and not what the client wrote before that', async () => {
    const chain = { 'X-Forwarded-For': '203.0.113.9, 198.51.100.7, 10.1.2.3' };
    expect(await clientOf(['127.0.0.1', '10.0.0.0/8'], chain)).toBe('198.51.100.7');
  });

  test('is read from no header other than X-Forwarded-For', async () => {
    expect(await clientOf(['127.0.0.1'], { Forwarded: FORGED.Forwarded, 'X-Real-IP': '203.0.113.9' })).toBe(
      '127.0.0.1',
    );
  });
});
