import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  createWebFetch,
  isPublicAddress,
  NOT_CALLED,
  type OpenGuard,
  openGuard,
  openTenantGuard,
  UrlNotAllowed,
} from '../src/fetch/index.js';

const HOSTILE = [
  'http://example.com/',
  'ftp://example.com/',
  'file:///etc/passwd',
  'https://user:pass@example.com/',
  'https://localhost/',
  'https://LOCALHOST./',
  'https://a.local/',
  'https://metadata.google.internal/',
  'https://printer/',
  'https://127.0.0.1/',
  'https://127.1/',
  'https://2130706433/',
  'https://0x7f.1/',
  'https://017700000001/',
  'https://0.0.0.0/',
  'https://10.0.0.1/',
  'https://172.16.0.1/',
  'https://192.168.1.1/',
  'https://169.254.169.254/latest/meta-data/',
  'https://100.64.0.1/',
  'https://198.18.0.1/',
  'https://224.0.0.1/',
  'https://255.255.255.255/',
  'https://[::1]/',
  'https://[::]/',
  'https://[::ffff:127.0.0.1]/',
  'https://[::7f00:1]/',
  'https://[64:ff9b::7f00:1]/',
  'https://[2002:7f00:1::]/',
  'https://[2001::1]/',
  'https://[fe80::1]/',
  'https://[fc00::1]/',
  'https://[fec0::1]/',
  'https://[ff02::1]/',
  'https://example.com:22/',
  'https://example.com:6/',
  'nonsense',
];

describe('a guarded fetcher', () => {
  let server: Server;
  let port: number;
  let guard: OpenGuard;
  const names = new Map<string, string[]>();

  beforeAll(async () => {
    server = createServer((request, response) => {
      const to = new URL(request.url ?? '/', 'http://x').searchParams.get('to');
      if (to !== null) response.writeHead(302, { Location: to });
      response.end(`Hello ${request.headers.host}`);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
    const resolve = async (host: string) =>
      (names.get(host) ?? []).map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    guard = openGuard({ allowlist: ['wiki.lan', '*.lab.lan'], resolve });
    names.set('wiki.lan', ['127.0.0.1']).set('a.lab.lan', ['127.0.0.1']);
    names.set('rebound.example', ['127.0.0.1']).set('mixed.example', ['93.184.216.34', '10.0.0.1']);
  });
  afterAll(async () => {
    await guard.close();
    server.close();
  });

  test.each(HOSTILE)('refuses %s', (url) => {
    expect(() => guard.check(url)).toThrow(UrlNotAllowed);
  });

  test.each([
    'https://example.com/a?b=c',
    'https://example.com:8443/',
    'https://[2606:4700::1111]/',
    'https://1.1.1.1/',
  ])('accepts %s', (url) => expect(guard.check(url).href).toBe(url));

  test.each(['rebound.example', 'mixed.example'])(
    'does not connect to %s, which has an address that is not public',
    async (host) => {
      await expect(guard.fetch(`https://${host}:${port}/`)).rejects.toThrow(UrlNotAllowed);
    },
  );

  test.each(['http://wiki.example/', 'https://127.0.0.1/'])('names the setting that would allow %s', (url) => {
    expect(() => guard.check(url)).toThrow('COMMONPLACE_URL_ALLOWLIST');
  });

  test('calls hosts that the operator has listed, by http and at any address', async () => {
    for (const host of ['wiki.lan', 'a.lab.lan']) {
      const { status, body } = await guard.fetch(`http://${host}:${port}/`);
      expect([status, await body.text()]).toEqual([200, `Hello ${host}:${port}`]);
    }
  });

  test('checks the targets of redirects', async () => {
    const to = (url: string) => `http://wiki.lan:${port}/?to=${encodeURIComponent(url)}`;
    await expect(guard.fetch(to('https://169.254.169.254/'))).rejects.toThrow(UrlNotAllowed);
    await expect(guard.fetch(to('http://rebound.example/'))).rejects.toThrow(UrlNotAllowed);
    const { url } = await guard.fetch(to(`http://a.lab.lan:${port}/`));
    expect(url.hostname).toBe('a.lab.lan');
    await expect(guard.fetch(to(to(`http://a.lab.lan:${port}/`)), { redirects: 1 })).rejects.toThrow('too many times');
  });

  test.each([
    'https://work.example.com/api/v1/hooks/x',
    'https://WORK.example.com.:8443/',
    'https://bytes.example.net/',
  ])('refuses %s, which leads to the installation itself', (url) => {
    const ownUrls = ['https://work.example.com/', 'https://bytes.example.net'];
    expect(() => openGuard({ ownUrls }).check(url)).toThrow('this service itself');
    expect(openGuard({ ownUrls, allowlist: ['work.example.com', 'bytes.example.net'] }).check(url).href).toBe(
      new URL(url).href,
    );
  });

  const LIST = ['api.example.com', '*.example.org', 'https://hooks.example.net/team/', 'b.example.com:8443'];

  test.each([
    'https://api.example.com/a',
    'https://API.example.com.:8443/a',
    'https://a.b.example.org/',
    'https://hooks.example.net/team/a?b=c',
    'https://b.example.com:8443/x',
  ])('allows %s, which the list of an Org names', (url) => {
    expect(openGuard().narrowedTo(LIST).check(url).href).toBe(new URL(url).href);
  });

  test.each([
    'https://example.com/',
    'https://a.api.example.com/',
    'https://api.example.com.evil.net/',
    'https://example.org/',
    'https://evilexample.org/',
    'https://hooks.example.net/other',
    'https://hooks.example.net/team/../other',
    'https://hooks.example.net/team/%2e%2e/other',
    'https://hooks.example.net:8443/team/',
    'https://b.example.com/x',
  ])('refuses %s, which the list of an Org does not name', (url) => {
    const narrowed = openGuard().narrowedTo(LIST);
    expect(() => narrowed.check(url)).toThrow('url_allowlist');
    expect(openGuard().check(url).href).toBe(new URL(url).href);
  });

  test('allows by the list of an Org nothing that it would refuse without', () => {
    const narrowed = guard.narrowedTo(['127.0.0.1', 'http://example.com', '*.local', 'printer']);
    for (const url of HOSTILE) expect(() => narrowed.check(url)).toThrow(UrlNotAllowed);
  });

  test('checks redirects by the list of an Org, and uses no list if there is none', async () => {
    const narrowed = guard.narrowedTo(['wiki.lan']);
    const to = (url: string) => `http://wiki.lan:${port}/?to=${encodeURIComponent(url)}`;
    await expect(narrowed.fetch(to(`http://a.lab.lan:${port}/`))).rejects.toThrow('url_allowlist');
    const { url, body } = await narrowed.fetch(to(`http://wiki.lan:${port}/`));
    await body.dump();
    expect(url.pathname).toBe('/');
    expect(guard.narrowedTo([]).check(`http://a.lab.lan:${port}/`).hostname).toBe('a.lab.lan');
  });

  test('gives each tenant the guard by its list as it is now, and none if that is unknown', async () => {
    const lists = new Map([['org', ['api.example.com']]]);
    const listOf = async (tenant: string) => {
      if (tenant === 'unreachable') throw new Error('no answer');
      return lists.get(tenant) ?? [];
    };
    const guards = openTenantGuard({ listOf });
    const url = 'https://example.com/';
    expect((await guards.of('personal')).check(url).href).toBe(url);
    expect(() => guards.check('https://10.0.0.1/')).toThrow(UrlNotAllowed);
    const before = await guards.of('org');
    expect(() => before.check(url)).toThrow(UrlNotAllowed);
    lists.set('org', ['example.com']);
    expect((await guards.of('org')).check(url).href).toBe(url);
    await expect(guards.of('unreachable')).rejects.toThrow('no answer');
    await guards.close();
  });

  test('distinguishes addresses of the internet from all others', () => {
    expect(['8.8.8.8', '2001:4860:4860::8888'].map(isPublicAddress)).toEqual([true, true]);
    expect(['x', '127.0.0.1', '::ffff:8.8.8.8', '3fff::1'].map(isPublicAddress)).toEqual([false, false, false, false]);
  });
});

describe('fetch by a guard', () => {
  let server: Server;
  let url: string;
  let guard: OpenGuard;
  let hungUp: Promise<void>;

  beforeAll(async () => {
    server = createServer((request, response) => {
      hungUp = new Promise((resolve) => response.once('close', resolve));
      if (request.url === '/nothing') response.writeHead(204).end();
      else if (request.url === '/away') response.writeHead(302, { location: 'http://169.254.169.254/' }).end();
      else response.write('first');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    guard = openGuard({ allowlist: ['127.0.0.1'] });
  });
  afterAll(async () => {
    await guard.close();
    server.closeAllConnections();
    server.close();
  });

  test('passes on a body while it arrives, and closes the connection when its reader stops', async () => {
    let pieces = 0;
    const { body } = await createWebFetch(guard, { maxBytes: 100, onBytes: () => pieces++ })(`${url}/stream`);
    const reader = (body as ReadableStream<Uint8Array>).getReader();
    expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe('first');
    expect(pieces).toBe(1);
    await reader.cancel();
    await hungUp;
  });

  test('refuses a body that is too long', async () => {
    const response = await createWebFetch(guard, { maxBytes: 4 })(`${url}/stream`);
    await expect(response.text()).rejects.toThrow('more than 4 bytes');
  });

  test('answers a URL that is not allowed, and a redirect to one, with a response', async () => {
    const fetchIt = createWebFetch(guard, { maxBytes: 100 });
    for (const refused of [`${url}/away`, 'http://10.0.0.1/']) {
      const response = await fetchIt(refused);
      expect([response.status, await response.json()]).toEqual([
        403,
        { error: expect.objectContaining({ code: NOT_CALLED }) },
      ]);
    }
    expect((await fetchIt(`${url}/nothing`)).body).toBeNull();
  });
});
