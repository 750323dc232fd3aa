import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Readable } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type OpenGuard, openGuard, UrlNotAllowed } from '../src/fetch/index.js';
import { hostileTargets } from '../src/testing/index.js';

let canary: Server;
/** A host on the operator's allowlist that redirects elsewhere. */
let trusted: Server;
let answer: (response: ServerResponse) => void;
let hits = 0;
let port = 0;
let base = '';
let guard: OpenGuard;
/** Addresses that a name resolves to, one answer after the other; the last one is repeated. */
const names = new Map<string, string[][]>();
let resolvedHosts: string[] = [];

async function listen(server: Server, host: string): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return (server.address() as AddressInfo).port;
}

beforeAll(async () => {
  canary = createServer((_, response) => response.end('secret'));
  // Every connection has reached it, whether or not it then uses TLS.
  canary.on('connection', () => hits++);
  // Listens on all addresses of the machine, of both families.
  port = await listen(canary, '::');
  trusted = createServer((_, response) => answer(response));
  base = `http://trusted.example:${await listen(trusted, '127.0.0.1')}/`;
  guard = openGuard({
    allowlist: ['trusted.example'],
    resolve: async (host) => {
      resolvedHosts.push(host);
      const answers = names.get(host) ?? [];
      const addresses = (answers.length > 1 ? answers.shift() : answers[0]) ?? [];
      return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    },
  });
});
beforeEach(() => {
  hits = 0;
  resolvedHosts = [];
  names.clear();
  names.set('trusted.example', [['127.0.0.1']]);
});
afterAll(async () => {
  await guard.close();
  canary.close();
  trusted.close();
});

const signal = () => AbortSignal.timeout(1000);

test('the canary detects when it is reached', async () => {
  await fetch(`http://127.0.0.1:${port}/`).then((response) => response.text());
  expect(hits).toBe(1);
});

test.each(hostileTargets(1).map((_, i) => [hostileTargets(1)[i], i]))('%s is not called', async (_, i) => {
  const url = hostileTargets(port)[i as number] as string;
  // URLs without an address have a name, which is made to resolve to a local address.
  names.set('example.com', [['127.0.0.1']]);
  await expect(guard.fetch(url, { signal: signal() })).rejects.toThrow(UrlNotAllowed);
  expect(hits).toBe(0);
});

describe('a name', () => {
  test.each([
    [['127.0.0.1']],
    [['::1']],
    [['::ffff:127.0.0.1']],
    [['93.184.216.34', '127.0.0.1']],
    [['2606:4700::1111', '::1']],
    [['64:ff9b::7f00:1']],
    [['0.0.0.0']],
  ])('that resolves to %j is not called', async (addresses) => {
    names.set('hooks.example', [addresses]);
    await expect(guard.fetch(`https://hooks.example:${port}/`, { signal: signal() })).rejects.toThrow(UrlNotAllowed);
    expect(hits).toBe(0);
  });

  test('is resolved once: an answer that changes after the check is never requested', async () => {
    names.set('rebinding.example', [['192.88.99.1'], ['127.0.0.1']]);
    names.set('rebinding2.example', [['8.8.8.8'], ['127.0.0.1']]);
    for (const host of ['rebinding.example', 'rebinding2.example']) {
      await expect(guard.fetch(`https://${host}:${port}/`, { signal: signal() })).rejects.toThrow();
    }
    expect(resolvedHosts).toEqual(['rebinding.example', 'rebinding2.example']);
    expect(hits).toBe(0);
  });

  test('that is checked again for each call does not reuse an earlier check', async () => {
    names.set('later.example', [['8.8.8.8'], ['127.0.0.1']]);
    await expect(guard.fetch(`https://later.example:${port}/`, { signal: signal() })).rejects.toThrow();
    await expect(guard.fetch(`https://later.example:${port}/`, { signal: signal() })).rejects.toThrow(UrlNotAllowed);
    expect(hits).toBe(0);
  });
});

describe('a trusted host', () => {
  test.each([301, 302, 303, 307, 308])('cannot redirect elsewhere by %s', async (status) => {
    for (const to of [
      `https://127.0.0.1:${port}/`,
      `http://127.0.0.1:${port}/`,
      `https://[::1]:${port}/`,
      'file:///etc/passwd',
    ]) {
      answer = (response) => response.writeHead(status, { location: to }).end();
      await expect(guard.fetch(base, { signal: signal() })).rejects.toThrow(UrlNotAllowed);
    }
    names.set('inner.example', [['127.0.0.1']]);
    answer = (response) => response.writeHead(status, { location: `https://inner.example:${port}/` }).end();
    await expect(guard.fetch(base, { signal: signal() })).rejects.toThrow(UrlNotAllowed);
    expect(hits).toBe(0);
  });

  test('that redirects endlessly is refused', async () => {
    let redirects = 0;
    answer = (response) => {
      redirects++;
      response.writeHead(302, { location: base }).end('x'.repeat(100_000));
    };
    await expect(guard.fetch(base, { signal: signal() })).rejects.toThrow('too many times');
    expect(redirects).toBe(4);
  });

  test('that never answers is cancelled when the caller cancels', async () => {
    answer = () => {};
    await expect(guard.fetch(base, { signal: AbortSignal.timeout(100) })).rejects.toThrow('timeout');
  });

  test('whose answer has no end can be abandoned', async () => {
    let closed = false;
    answer = (response) => {
      const more = () => {
        while (!closed && response.write('x'.repeat(65_536)));
      };
      response.writeHead(200).on('drain', more);
      response.on('close', () => {
        closed = true;
      });
      more();
    };
    const { body } = await guard.fetch(base);
    let bytes = 0;
    for await (const chunk of body as Readable) {
      bytes += (chunk as Buffer).length;
      if (bytes > 200_000) break;
    }
    body.destroy();
    expect(bytes).toBeLessThan(10_000_000);
  });
});
