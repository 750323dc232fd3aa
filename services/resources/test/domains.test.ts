import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { openTestDatabase, type TestDatabase } from '@commonplace/adapters/testing';
import { type Fetched, openGuard } from '@commonplace/kit/fetch';
import { silentLog } from '@commonplace/kit/log';
import { createAuthority } from '@commonplace/kit/testing';
import { HostKind } from '@commonplace/proto/resources/v1/reader_service.js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Visit } from '../src/publications/certificates.js';
import { createCertificateProbe } from '../src/publications/certificates-guard.js';
import { createNodeResolver } from '../src/publications/dns-node.js';
import { type DomainParts, openDomainQueue } from '../src/publications/domain-jobs.js';
import { requireDomain } from '../src/publications/domain-names.js';
import { claimId, verifyName, verifyValue } from '../src/publications/domains.js';
import { createHosts } from '../src/publications/hosts.js';
import { type DomainRecord, domainCollection, publicationCollection } from '../src/publications/records.js';
import { type DnsServer, startDnsServer } from './dns-server.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DOMAIN = 'docs.example.com';
const TARGET = 'wiki.example.net';
const START = Date.parse('2026-01-01T00:00:00.000Z');

let database: TestDatabase;
let server: DnsServer;
let parts: DomainParts;
/** The clock of the checks, in epoch milliseconds. */
let now = START;

/** The result of a visit over HTTPS, and the origins that were visited. */
let visit: Visit = 'unknown';
let visited: string[] = [];

const at = () => new Date(now).toISOString();
const domain = async () => (await parts.domains.get(DOMAIN)) as DomainRecord;
const TXT = { name: verifyName(DOMAIN), type: 'TXT', data: verifyValue('token') } as const;
const CNAME = { name: DOMAIN, type: 'CNAME', data: TARGET } as const;

const stateOf = ({ status, lostAt, error }: DomainRecord) => [status, lostAt, error];

/** Moves the clock to each next check until `ms` have passed. Returns the number of checks. */
async function pass(ms: number): Promise<number> {
  const end = now + ms;
  for (let checks = 0; ; checks += 1) {
    const next = Date.parse((await domain()).nextCheckAt);
    if (next > end) {
      now = end;
      return checks;
    }
    now = Math.max(now, next);
    await checkDomains();
  }
}

/** Runs the checks that are due by the test's clock. */
async function checkDomains(): Promise<void> {
  const { store, log } = parts;
  const queue = await openDomainQueue({ store, log, partsOf: () => parts, now: () => now });
  await queue.runDue();
  await queue.close();
}

beforeAll(async () => {
  server = await startDnsServer();
  database = await openTestDatabase();
  const store = database.store('resources');
  const domains = await store.collection(domainCollection);
  parts = {
    store,
    log: silentLog,
    domains,
    publications: await store.collection(publicationCollection),
    hosts: createHosts(domains, { publicUrl: `https://${TARGET}`, contentUrl: 'https://content.example.net' }),
    resolver: createNodeResolver([server.address]),
    certificates: {
      visit: async (origin) => {
        visited.push(origin);
        return visit;
      },
    },
  };
});
afterAll(async () => {
  await server.close();
  await database.close();
});

beforeEach(async () => {
  now = START;
  visit = 'unknown';
  visited = [];
  const known = await parts.domains.find({ where: { tenant: 't' }, limit: 100 });
  const work = parts.store.begin();
  for (const one of known) work.remove(parts.domains, one);
  await work.commit();
  const again = parts.store.begin();
  again.insert(parts.domains, {
    id: DOMAIN,
    tenant: 't',
    publicationId: 'p',
    token: 'token',
    status: 'pending_dns',
    seen: { txt: false, cname: false },
    addedAt: at(),
    nextCheckAt: at(),
  });
  await again.commit();
  await server.set({});
});

describe('the hosts of the server', () => {
  const kindsOf = async (publicUrl: string, contentUrl: string | undefined, headers: readonly string[]) => {
    const hosts = createHosts(parts.domains, { publicUrl, contentUrl });
    return Promise.all(headers.map(async (header) => (await hosts.of(header))?.kind));
  };
  const { PUBLIC, CONTENT } = HostKind;

  test('are told apart by their names where both are on a loopback address and have one port', async () => {
    const names = ['127.0.0.1:8080', 'localhost:8080', '[::1]:8080', '127.0.0.1:8081'];
    const kinds = await kindsOf('http://127.0.0.1:8080', 'http://localhost:8080', names);
    expect(kinds).toEqual([PUBLIC, CONTENT, PUBLIC, undefined]);
    const swapped = await kindsOf('http://localhost:8080', 'http://127.0.0.1:8080', names);
    expect(swapped).toEqual([CONTENT, PUBLIC, PUBLIC, undefined]);
  });

  test('answer to all names of a loopback address', async () => {
    const names = ['127.0.0.1:8080', 'LOCALHOST:8080', 'localhost:8081', '[::1]:8081', 'localhost'];
    const kinds = await kindsOf('http://localhost:8080', 'http://localhost:8081', names);
    expect(kinds).toEqual([PUBLIC, PUBLIC, CONTENT, CONTENT, undefined]);
  });
});

describe('a domain', () => {
  test('is verified by both records, and served from then on', async () => {
    await checkDomains();
    expect(await domain()).toMatchObject({
      status: 'pending_dns',
      lastCheckedAt: at(),
      seen: { txt: false, cname: false },
    });
    expect(await parts.hosts.of(DOMAIN)).toBeUndefined();
    await server.set({ records: [TXT] });
    await pass(10 * MINUTE);
    expect(await domain()).toMatchObject({ status: 'verifying', seen: { txt: true, cname: false } });
    expect((await domain()).error).toContain('CNAME');
    expect(await parts.hosts.of(DOMAIN)).toBeUndefined();
    await server.set({ records: [CNAME, { ...TXT, data: verifyValue('of another') }] });
    await pass(10 * MINUTE);
    expect(await domain()).toMatchObject({ status: 'verifying', seen: { txt: false, cname: true } });
    await server.set({ records: [TXT, CNAME] });
    await pass(10 * MINUTE);
    expect(stateOf(await domain())).toEqual(['active', undefined, undefined]);
    expect(await parts.hosts.of(`${DOMAIN.toUpperCase()}:443`)).toMatchObject({
      origin: `https://${DOMAIN}`,
      publicationId: 'p',
    });
  });

  test('that is claimed again during a lookup is looked up once more', async () => {
    const { resolver } = parts;
    let looks = 0;
    const meanwhile = {
      lookUp: async (wanted: Parameters<typeof resolver.lookUp>[0]) => {
        const found = await resolver.lookUp(wanted);
        looks += 1;
        if (looks > 1) return found;
        await server.set({ records: [TXT, CNAME] });
        const work = parts.store.begin();
        const record = await domain();
        work.replace(parts.domains, record, { ...record, nextCheckAt: at() });
        await work.commit();
        return found;
      },
    };
    const { store, log } = parts;
    const partsOf = () => ({ ...parts, resolver: meanwhile });
    const queue = await openDomainQueue({ store, log, partsOf, now: () => now });
    await queue.runDue();
    await queue.runDue();
    await queue.close();
    expect([looks, (await domain()).status]).toEqual([2, 'active']);
  });

  test('may have only the addresses of the server instead of a CNAME', async () => {
    const own = { name: DOMAIN, type: 'A', data: '192.0.2.1' } as const;
    const right = { name: TARGET, type: 'A', data: '192.0.2.1' } as const;
    await server.set({ records: [TXT, own, right, { ...own, data: '203.0.113.9' }] });
    await checkDomains();
    expect((await domain()).status).toBe('verifying');
    await server.set({ records: [TXT, own, right] });
    await pass(10 * MINUTE);
    expect((await domain()).status).toBe('active');
  });

  test('is checked every ten minutes for two days, and then once a day', async () => {
    expect(await pass(48 * HOUR - 1)).toBe(288);
    await pass(1);
    expect(await pass(10 * 24 * HOUR)).toBe(10);
    expect((await domain()).status).toBe('pending_dns');
  });

  test('fails after its records were missing for three days, and recovers with them', async () => {
    await server.set({ records: [TXT, CNAME] });
    await pass(5 * 24 * HOUR);
    expect((await domain()).status).toBe('active');
    await server.set({ records: [CNAME] });
    await pass(24 * HOUR);
    const lostAt = Date.parse((await domain()).lostAt as string);
    await pass(lostAt + 72 * HOUR - 1 - now);
    expect(await domain()).toMatchObject({ status: 'active', seen: { txt: false, cname: true } });
    await pass(1);
    expect((await domain()).status).toBe('failed');
    expect(await parts.hosts.of(DOMAIN)).toBeUndefined();
    await server.set({ records: [TXT, CNAME] });
    await pass(24 * HOUR);
    expect(stateOf(await domain())).toEqual(['active', undefined, undefined]);
  });

  test('that was lost for a short time starts a new period', async () => {
    await server.set({ records: [TXT, CNAME] });
    await pass(3 * 24 * HOUR);
    for (let i = 0; i < 3; i += 1) {
      await server.set({});
      await pass(48 * HOUR);
      await server.set({ records: [TXT, CNAME] });
      await pass(24 * HOUR);
      expect(stateOf(await domain())).toEqual(['active', undefined, undefined]);
    }
  });

  test('does not fail because of failed DNS queries', async () => {
    await server.set({ records: [TXT, CNAME] });
    await checkDomains();
    await server.set({ broken: [DOMAIN, verifyName(DOMAIN)] });
    await pass(30 * 24 * HOUR);
    expect(stateOf(await domain())).toEqual(['active', undefined, expect.stringContaining('DNS query failed')]);
  });
});

describe('a domain that several publications claim', () => {
  const claimOf = (publicationId: string) => parts.domains.get(claimId(DOMAIN, publicationId));
  const proofOf = (token: string) => ({ name: verifyName(DOMAIN), type: 'TXT', data: verifyValue(token) }) as const;

  async function claim(publicationId: string, token: string): Promise<void> {
    const seen = { txt: false, cname: false };
    const work = parts.store.begin();
    const record = { tenant: 't', publicationId, token, seen, status: 'pending_dns' } as const;
    const name = { id: claimId(DOMAIN, publicationId), domain: DOMAIN };
    work.insert(parts.domains, { ...record, ...name, addedAt: at(), nextCheckAt: at() });
    await work.commit();
  }

  async function checkAll(ms: number): Promise<void> {
    now += ms;
    await checkDomains();
  }

  test('belongs to the first publication that proves it, whichever claimed it before', async () => {
    await claim('rightful', 'mine');
    await server.set({ records: [proofOf('mine'), CNAME] });
    await checkAll(MINUTE);
    expect(await parts.hosts.of(DOMAIN)).toMatchObject({ publicationId: 'rightful' });
    expect(await claimOf('rightful')).toBeUndefined();
    // The holder without a proof keeps a claim.
    expect(await claimOf('p')).toMatchObject({ publicationId: 'p', token: 'token' });
  });

  test('stays with the publication that has proven it, while its records exist', async () => {
    await claim('late', 'later');
    await server.set({ records: [TXT, CNAME] });
    await checkAll(MINUTE);
    expect(await parts.hosts.of(DOMAIN)).toMatchObject({ publicationId: 'p' });
    await server.set({ records: [TXT, proofOf('later'), CNAME] });
    await checkAll(11 * MINUTE);
    expect(await parts.hosts.of(DOMAIN)).toMatchObject({ publicationId: 'p' });
    expect(await claimOf('late')).toMatchObject({ status: 'verifying', error: expect.stringContaining('Another') });
    // When the first one's records have been missing for three days, the other's proof counts.
    await server.set({ records: [proofOf('later'), CNAME] });
    for (let hours = 0; hours <= 24 * 6; hours += 12) await checkAll(12 * HOUR);
    expect(await parts.hosts.of(DOMAIN)).toMatchObject({ publicationId: 'late' });
    expect(await claimOf('p')).toMatchObject({ publicationId: 'p', status: 'failed' });
  });

  test('is served once if both prove it at the same time', async () => {
    await claim('second', 'two');
    await claim('third', 'three');
    await server.set({ records: [proofOf('two'), proofOf('three'), CNAME] });
    await Promise.all([checkAll(MINUTE), checkAll(0)]);
    await checkAll(11 * MINUTE);
    const found = await parts.domains.find({ where: { tenant: 't', status: 'active' }, limit: 10 });
    expect(found.map(({ id }) => id)).toEqual([DOMAIN]);
  });
});

describe('the certificate of a domain', () => {
  const certificate = async () => (await domain()).certificate;

  test('is reported while the domain is active', async () => {
    visit = 'trusted';
    await checkDomains();
    expect([await certificate(), visited]).toEqual([undefined, []]);
    await server.set({ records: [TXT, CNAME] });
    visit = 'unknown';
    await pass(10 * MINUTE);
    expect([await certificate(), visited]).toEqual([undefined, [`https://${DOMAIN}`]]);
    visit = 'refused';
    await pass(10 * MINUTE);
    expect(await certificate()).toBe('pending');
    visit = 'trusted';
    await pass(10 * MINUTE);
    expect(await certificate()).toBe('issued');
    visit = 'unknown';
    await pass(10 * MINUTE);
    expect(await certificate()).toBe('issued');
    visit = 'refused';
    await pass(10 * MINUTE);
    expect(await certificate()).toBe('failed');
    visit = 'trusted';
    await pass(10 * MINUTE);
    expect(await certificate()).toBe('issued');
    await server.set({});
    await pass(5 * 24 * HOUR);
    expect([(await domain()).status, await certificate()]).toEqual(['failed', undefined]);
  });

  test('counts as failed after two days', async () => {
    await server.set({ records: [TXT, CNAME] });
    visit = 'refused';
    await pass(48 * HOUR - 1);
    expect(await certificate()).toBe('pending');
    await pass(24 * HOUR);
    expect(await certificate()).toBe('failed');
  });

  test('is visited through the guard', async () => {
    const authority = createAuthority();
    const { cert, key } = authority.issue(join(database.folder, 'certificate'), [DOMAIN]);
    const https = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (_, answer) => answer.end('x'));
    await new Promise<void>((resolve) => https.listen(0, '127.0.0.1', resolve));
    const { port } = https.address() as AddressInfo;
    const here = async () => [{ address: '127.0.0.1', family: 4 }];
    const closed = openGuard({ resolve: here });
    const open = openGuard({ resolve: here, allowlist: [DOMAIN] });
    try {
      const shown = createCertificateProbe(open);
      expect(await shown.visit(`https://${DOMAIN}:${port}`)).toBe('refused');
      expect(await shown.visit(`http://${DOMAIN}:${port}`)).toBe('unknown');
      expect(await shown.visit(`https://${DOMAIN}:1`)).toBe('unknown');
      expect(await createCertificateProbe(closed).visit(`https://${DOMAIN}:${port}`)).toBe('unknown');
      const body = Readable.from(['x']) as unknown as Fetched['body'];
      body.dump = async () => {};
      const fetched: string[] = [];
      const trusting = createCertificateProbe({
        fetch: async (text) => {
          fetched.push(text);
          return { url: new URL(text), status: 404, headers: {}, body };
        },
      });
      expect([await trusting.visit(`https://${DOMAIN}`), fetched]).toEqual([
        'trusted',
        [`https://${DOMAIN}/robots.txt`],
      ]);
    } finally {
      await closed.close();
      await open.close();
      https.closeAllConnections();
      https.close();
    }
  });
});

test('only host names of the public DNS are domains', () => {
  const own = ['wiki.example.net'];
  expect(requireDomain('Docs.Example.COM.', own)).toBe('docs.example.com');
  expect(requireDomain('bücher.example', own)).toBe('xn--bcher-kva.example');
  const wrong = ['localhost', 'a.localhost', '127.0.0.1', '0x7f.1', '[::1]', '1.2.3', 'a b.com', 'a_b.com', 'a..b', ''];
  const more = [
    '-a.com',
    'a-.com',
    'x.com/',
    'x.com:80',
    'u@x.com',
    '*.x.com',
    'wiki.example.net',
    'a.wiki.example.net',
  ];
  for (const name of [...wrong, ...more, `${'a'.repeat(64)}.com`, 'x.internal', 'x.local']) {
    expect([name, requireDomain(name, own)]).toEqual([name, undefined]);
  }
});
