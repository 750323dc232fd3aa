import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { checkKilled, checkLink } from '../src/links/check.js';
import { type LinkedMesh, startLinkedMesh } from '../src/links/mesh.js';
import { createProbes, type Probe } from '../src/links/probes.js';
import type { Fault } from '../src/links/proxies.js';
import { mode } from '../src/system.js';

const DEADLINE_MS = 2000;
/** One link of each kind, and each fault of the most used ones; `npm run soak -- --only links` tests all of them. */
const BROKEN: readonly (readonly [string, Fault])[] = [
  ['gateway to resources', 'black hole'],
  ['gateway to resources', 'slow'],
  ['gateway to resources', 'reset'],
  ['gateway to identity', 'black hole'],
  ['resources to tenancy', 'black hole'],
  ['resources to mongodb', 'black hole'],
  ['resources to mongodb', 'slow'],
  ['resources to mongodb', 'reset'],
  ['resources to nats', 'black hole'],
  ['search to typesense', 'black hole'],
  ['files to s3', 'black hole'],
];

const withServers = mode === 'mesh' ? test : test.skip;
const home = mkdtempSync(join(tmpdir(), 'commonplace-links-'));
let mesh: LinkedMesh | undefined;
let probes: Probe[];

beforeAll(async () => {
  if (mode !== 'mesh') return;
  mesh = await startLinkedMesh(home, DEADLINE_MS);
  probes = await createProbes(mesh);
}, 240_000);
afterAll(async () => {
  await mesh?.stop();
  rmSync(home, { recursive: true, force: true });
});

withServers.each(BROKEN)(
  '%s, %s: responses arrive in time, successful or as 503, and the system recovers afterwards',
  async (name, fault) => {
    const running = mesh as LinkedMesh;
    const link = running.links.find((one) => one.name === name);
    if (link === undefined) throw new Error(`There is no link ${name}.`);
    const { faults } = await checkLink(running, probes, link, fault);
    expect(faults).toEqual([]);
  },
  90_000,
);

withServers.each(['search', 'messaging', 'files', 'resources', 'tenancy', 'identity'])(
  'without %s its own endpoints and those that need it return 503 with Retry-After, and others work',
  async (service) => {
    const { faults } = await checkKilled(mesh as LinkedMesh, probes, service);
    expect(faults).toEqual([]);
  },
  90_000,
);
