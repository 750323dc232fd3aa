import type { IncomingMessage } from 'node:http';
import { silentLog } from '@commonplace/kit/log';
import { describe, expect, test } from '@jest/globals';
import Koa from 'koa';
import { nameRequest } from '../src/middleware/request.js';
import type { State } from '../src/middleware/state.js';
import { watchUnnamedProxies } from '../src/middleware/unnamed-proxies.js';

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

  test('is looked for among the last addresses alone, as the library takes microseconds for each', async () => {
    const behind = async (proxies: number) => {
      const chain = { 'X-Forwarded-For': `198.51.100.7${', 10.1.2.3'.repeat(proxies)}` };
      return clientOf(['127.0.0.1', '10.0.0.0/8'], chain);
    };
    expect([await behind(20), await behind(1400)]).toEqual(['198.51.100.7', '10.1.2.3']);
  });

  test('is read from no header other than X-Forwarded-For', async () => {
    expect(await clientOf(['127.0.0.1'], { Forwarded: FORGED.Forwarded, 'X-Real-IP': '203.0.113.9' })).toBe(
      '127.0.0.1',
    );
  });
});

describe('a proxy that the settings do not name', () => {
  const request = (remoteAddress: string, forwardedFor?: string) =>
    ({ headers: { 'x-forwarded-for': forwardedFor }, socket: { remoteAddress } }) as unknown as IncomingMessage;
  /** Returns the proxies that are logged when requests arrive at the given milliseconds. */
  function logged(requests: readonly (readonly [number, IncomingMessage, string])[]): unknown[] {
    const lines: unknown[] = [];
    let now = 0;
    const log = { ...silentLog, warn: (event: string, fields?: object) => lines.push({ event, ...fields }) };
    const watch = watchUnnamedProxies(log, () => now);
    for (const [at, one, clientIp] of requests) {
      now = at;
      watch(one, clientIp);
    }
    return lines;
  }
  const line = (proxy: string) => ({ event: 'proxy.not_named', proxy, setting: 'COMMONPLACE_TRUSTED_PROXIES' });

  test.each([
    ['the only one', '10.1.2.3', '203.0.113.9', '10.1.2.3'],
    ['on the same machine', '::ffff:127.0.0.1', '203.0.113.9', '::ffff:127.0.0.1'],
    ['behind one that is named', '127.0.0.1', '203.0.113.9, 10.1.2.3', '10.1.2.3'],
    ['of a cloud', '100.64.0.7', '203.0.113.9', '100.64.0.7'],
  ])('is logged: %s', (_, remote, forwardedFor, clientIp) => {
    expect(logged([[1_000, request(remote, forwardedFor), clientIp]])).toEqual([line(clientIp)]);
  });

  test.each([
    ['no proxy', '10.1.2.3', undefined, '10.1.2.3'],
    ['a named proxy', '10.1.2.3', '203.0.113.9', '203.0.113.9'],
    ['a named proxy of a private network', '10.1.2.3', '192.168.1.5', '192.168.1.5'],
    ['a header that anybody on the internet can send', '203.0.113.9', '198.51.100.7', '203.0.113.9'],
  ])('is not: %s', (_, remote, forwardedFor, clientIp) => {
    expect(logged([[1_000, request(remote, forwardedFor), clientIp]])).toEqual([]);
  });

  test('is logged once an hour, whatever arrives', () => {
    const unnamed = request('10.1.2.3', '203.0.113.9');
    const at = (ms: number) => [ms, unnamed, '10.1.2.3'] as const;
    expect(logged([at(1_000), at(2_000), at(3_600_999), at(3_601_001)])).toHaveLength(2);
  });
});
