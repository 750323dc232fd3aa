import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ConnectionOptions, connect } from 'node:tls';
import { type GrpcServer, type MeshTls, openGrpcChannel, openGrpcServer, openTls } from '@commonplace/adapters/grpc';
import { createPeerTokens } from '@commonplace/kit/auth';
import { silentLog } from '@commonplace/kit/log';
import type { ServedMethod } from '@commonplace/kit/rpc';
import { gather } from '@commonplace/kit/telemetry';
import { type Authority, createAuthority, eventually, type IssuedFiles } from '@commonplace/kit/testing';
import { credentials, makeGenericClientConstructor } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { service } from 'grpc-health-check';
import { contracts } from '../src/contracts/index.js';

const NAME = '{service}.mesh.test';
const LOOK_MS = 20;
const folder = mkdtempSync(join(tmpdir(), 'commonplace-tls-'));
const authority = createAuthority();
const opened: { close(): unknown }[] = [];
let server: GrpcServer;
let files: IssuedFiles;

const { definition } = contracts.index;
const methods = new Map<string, ServedMethod>(
  Object.values(definition).map(({ path, responseStream }) => [
    path,
    { streams: responseStream, unary: async () => ({ counts: [] }), stream: async function* () {} },
  ]),
);

beforeAll(async () => {
  files = authority.issue(join(folder, 'resources'), ['resources.mesh.test']);
  const tls = { mesh: opens(files), healthPort: 0 };
  server = await openGrpcServer({ host: '127.0.0.1', port: 0, definitions: [definition], methods, tls });
  server.setReady(true);
});
afterAll(async () => {
  for (const one of opened) await one.close();
  await server.close(0);
  rmSync(folder, { recursive: true });
});

function opens(given: IssuedFiles): MeshTls {
  const tls = openTls({ ...given, name: NAME, lookMs: LOOK_MS }, silentLog);
  opened.push(tls);
  return tls;
}

/** Calls as the service `caller`. */
function ask(caller: string, tls: MeshTls | undefined): Promise<unknown> {
  const channel = openGrpcChannel(() => `127.0.0.1:${server.port}`, createPeerTokens(Buffer.alloc(32), caller), {
    tls,
  });
  opened.push(channel);
  const options = { metadata: { requestId: 'r' }, deadline: Date.now() + 30_000 };
  return channel.client(contracts.index).countResources({ workspaceIds: [], readableIds: [] }, options);
}

function issued(name: string, names: string[], by: Authority = authority, trusted?: Authority[]): MeshTls {
  return opens(by.issue(join(folder, name), names, trusted));
}

const REFUSED = { code: 'UNAVAILABLE', reason: 'service_unavailable' };

test('a service with its own certificate is admitted', async () => {
  await expect(ask('search', issued('search', ['search.mesh.test']))).resolves.toBeDefined();
});

test('connections have TLS 1.2 or 1.3, and a cipher with forward secrecy and authentication', async () => {
  const own = files;
  const options = {
    port: server.port,
    servername: 'resources.mesh.test',
    ca: readFileSync(own.ca),
    cert: readFileSync(own.cert),
    key: readFileSync(own.key),
    ALPNProtocols: ['h2'],
  };
  const reach = (more: ConnectionOptions) =>
    new Promise<string>((resolve) => {
      const socket = connect({ ...options, ...more }, () => {
        resolve(`${socket.getProtocol()} ${socket.getCipher().name}`);
        socket.destroy();
      });
      socket.once('error', () => resolve('refused'));
    });
  expect(await reach({})).toMatch(/^TLSv1\.3 TLS_(AES_(128|256)_GCM|CHACHA20_POLY1305)_SHA\d+$/);
  expect(await reach({ maxVersion: 'TLSv1.2' })).toMatch(/^TLSv1\.2 ECDHE-/);
  // The client would accept them, so it is the server that refuses.
  const old = { minVersion: 'TLSv1', ciphers: 'ALL:@SECLEVEL=0' } as const;
  expect(await reach({ ...old, maxVersion: 'TLSv1.1' })).toBe('refused');
  expect(await reach({ ...old, maxVersion: 'TLSv1' })).toBe('refused');
  for (const ciphers of ['NULL', 'aNULL', 'RC4', '3DES', 'kDHE+aDSS', 'PSK']) {
    expect([
      ciphers,
      await reach({ maxVersion: 'TLSv1.2', ciphers: `${ciphers}:@SECLEVEL=0` }).catch(() => 'refused'),
    ]).toEqual([ciphers, 'refused']);
  }
});

test('a plain client is refused', async () => {
  await expect(ask('search', undefined)).rejects.toMatchObject(REFUSED);
});

test('a client with a certificate of another authority is refused', async () => {
  const tls = issued('stranger', ['search.mesh.test'], createAuthority(), [authority]);
  await expect(ask('search', tls)).rejects.toMatchObject(REFUSED);
});

test('a client with the certificate of another service than it claims to be is refused', async () => {
  await expect(ask('tenancy', issued('other', ['search.mesh.test']))).rejects.toMatchObject(REFUSED);
});

test('a service whose certificate is not its own is not called', async () => {
  const own = issued('caller', ['search.mesh.test']);
  const tls = { ...own, nameOf: () => 'identity.mesh.test' };
  await expect(ask('search', tls)).rejects.toMatchObject(REFUSED);
});

test('a service of another authority is not called', async () => {
  const tls = issued('trusting-other', ['search.mesh.test'], authority, [createAuthority()]);
  await expect(ask('search', tls)).rejects.toMatchObject(REFUSED);
});

test('probes read health without a certificate, and nothing else', async () => {
  const port = server.healthPort as number;
  const Health = makeGenericClientConstructor(service, 'Health');
  const client = new Health(`127.0.0.1:${port}`, credentials.createInsecure());
  const status = await new Promise((resolve, reject) =>
    client.check?.({ service: '' }, (error: Error | null, answer: { status: string }) =>
      error === null ? resolve(answer.status) : reject(error),
    ),
  );
  expect(status).toBe('SERVING');
  client.close();
  const channel = openGrpcChannel(() => `127.0.0.1:${port}`, createPeerTokens(Buffer.alloc(32), 'search'));
  opened.push(channel);
  const options = { metadata: { requestId: 'r' }, deadline: Date.now() + 30_000 };
  const asked = channel.client(contracts.index).countResources({ workspaceIds: [], readableIds: [] }, options);
  await expect(asked).rejects.toMatchObject({ code: 'UNAVAILABLE', details: { reason: 'older_version' } });
});

test('new connections use new certificates, also of another authority; mismatched files change nothing', async () => {
  const next = createAuthority();
  const old = issued('old', ['search.mesh.test'], authority, [authority, next]);
  const fresh = issued('fresh', ['search.mesh.test'], next, [next]);
  await expect(ask('search', fresh)).rejects.toMatchObject(REFUSED);
  writeFileSync(files.key, 'half of a key');
  await new Promise((resolve) => setTimeout(resolve, 3 * LOOK_MS));
  await expect(ask('search', old)).resolves.toBeDefined();
  next.issue(join(folder, 'resources'), ['resources.mesh.test'], [authority, next]);
  await eventually(() => ask('search', fresh));
  await expect(ask('search', old)).resolves.toBeDefined();
});

test('a start with unusable files reports them', () => {
  expect(() => openTls({ ...files, ca: join(folder, 'none'), name: NAME }, silentLog)).toThrow(/can't be used/);
});

test('the end of a certificate is a metric', async () => {
  const ends = Date.parse(new X509Certificate(readFileSync(files.cert)).validTo) / 1000;
  const expiry = (await gather()).find(({ spec }) => spec.name === 'tls.certificate.not_after');
  expect(expiry?.points).toContainEqual({ attributes: {}, value: ends });
});
