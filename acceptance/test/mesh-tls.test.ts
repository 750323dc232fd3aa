import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { createAuthority } from '@commonplace/kit/testing';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eventually } from '../src/eventually.js';
import { type LinkedMesh, startLinkedMesh } from '../src/links/mesh.js';
import { ask, createProbes, isGood, type Probe } from '../src/links/probes.js';
import { mode } from '../src/system.js';

const DEADLINE_MS = 10_000;
const withServers = mode === 'mesh' ? test : test.skip;
const home = mkdtempSync(join(tmpdir(), 'commonplace-mesh-tls-'));
const authority = createAuthority();
const folder = (part: string) => join(home, 'tls', part);
const issue = (part: string, trusted = [authority], by = authority) =>
  by.issue(folder(part), [`${part}.mesh.test`], trusted);
let mesh: LinkedMesh | undefined;
let probes: Probe[];

beforeAll(async () => {
  if (mode !== 'mesh') return;
  mesh = await startLinkedMesh(home, DEADLINE_MS, (part) => {
    const { cert, key, ca } = issue(part);
    return {
      COMMONPLACE_TLS_CERT: cert,
      COMMONPLACE_TLS_KEY: key,
      COMMONPLACE_TLS_CA: ca,
      COMMONPLACE_TLS_NAME: '{service}.mesh.test',
      COMMONPLACE_HEALTH_PORT: '0',
    };
  });
  probes = await createProbes(mesh);
}, 240_000);
afterAll(async () => {
  await mesh?.stop();
  rmSync(home, { recursive: true, force: true });
});

async function allGood(): Promise<void> {
  const bad = (await ask(probes)).filter((outcome) => !isGood(outcome));
  expect(bad.map(({ probe, status, code }) => `${probe.name}: ${status} ${code}`)).toEqual([]);
}

/** Returns the serial number of a service's certificate. Rejects if the service requires one and gets none. */
function shown(service: string, own: { cert?: Buffer; key?: Buffer } = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const port = (mesh as LinkedMesh).portOf(service);
    const options = { port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['h2'], ...own };
    const socket = connect(options, () => {
      const { serialNumber } = socket.getPeerCertificate();
      // With TLS 1.3 a client is refused only after the handshake.
      socket.once('data', () => resolve(serialNumber));
      socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0');
    });
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('closed')));
    socket.unref();
  });
}

withServers(
  'a mesh works by TLS, and lets in nobody without a certificate',
  async () => {
    await allGood();
    await expect(shown('resources')).rejects.toBeDefined();
  },
  60_000,
);

withServers(
  'certificates are exchanged while it runs',
  async () => {
    const { cert, key } = issue('gateway');
    const own = { cert: readFileSync(cert), key: readFileSync(key) };
    const before = await shown('resources', own);
    issue('resources');
    await eventually(async () => expect(await shown('resources', own)).not.toBe(before), 30_000);
    await allGood();
  },
  90_000,
);
