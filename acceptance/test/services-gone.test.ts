import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eventually } from '../src/eventually.js';
import { ask, createProbes, isGood, type Outcome, type Probe } from '../src/links/probes.js';
import { documentedTable, documentTable, tableOf } from '../src/links/table.js';
import { createLooseMesh, type LooseMesh, SERVERS } from '../src/loose-mesh.js';
import { mode } from '../src/system.js';

/** Kills each service and compares what still works with the table in docs/operations.md. */
const withServers = mode === 'mesh' ? test : test.skip;
const START_MS = 240_000;
/** Maximum milliseconds for which answers of another service are cached. */
const CACHED_MS = 2500;
const ROUNDS = 2;
/** The services, in ascending order of the number of others that depend on them. */
const SERVICES = ['search', 'agents', 'automations', 'messaging', 'files', 'resources', 'tenancy', 'identity'];
const isWriting = process.env.COMMONPLACE_WRITE_DOCS === '1';

const home = mkdtempSync(join(tmpdir(), 'commonplace-gone-'));
let mesh: LooseMesh | undefined;
let probes: Probe[];
const gone = new Map<string, Outcome[]>();

beforeAll(async () => {
  if (mode !== 'mesh') return;
  mesh = await createLooseMesh(home, { COMMONPLACE_REQUEST_TIMEOUT_MS: '5000' });
  for (const part of [...SERVERS, ...mesh.parts.filter((one) => !SERVERS.includes(one))]) await mesh.start(part);
  const { baseUrl, bootstrapFile } = mesh;
  await eventually(async () => expect((await fetch(`${baseUrl}/health/ready`)).status).toBe(200), START_MS);
  expect(await mesh.bootstrap()).toBe(0);
  const { api_key: apiKey } = JSON.parse(readFileSync(bootstrapFile, 'utf8')) as { api_key: string };
  probes = await createProbes({ baseUrl, owner: { email: '', password: '', apiKey } });
}, 2 * START_MS);

afterAll(async () => {
  await mesh?.stop();
  rmSync(home, { recursive: true, force: true });
});

async function allIsWell(): Promise<void> {
  await eventually(async () => {
    const bad = (await ask(probes)).filter((outcome) => !isGood(outcome));
    expect(bad.map(({ probe, status, code }) => `${probe.name}: ${status} ${code}`)).toEqual([]);
  }, START_MS);
}

withServers.each(SERVICES)(
  'without %s a request is answered as usual or with 503 and Retry-After, and the system recovers afterwards',
  async (service) => {
    const running = mesh as LooseMesh;
    await allIsWell();
    await running.kill(service);
    await sleep(CACHED_MS);
    const outcomes: Outcome[] = [];
    for (let round = 0; round < ROUNDS; round++) outcomes.push(...(await ask(probes)));
    gone.set(service, outcomes);
    await running.start(service);
    for (const outcome of outcomes) {
      const { probe, status, retryAfter, code } = outcome;
      const isRefused = status === 503 && Number(retryAfter) > 0;
      expect([probe.name, isGood(outcome) || isRefused, status, code]).toEqual([probe.name, true, status, code]);
      if (probe.owner === service) expect([probe.name, status]).toEqual([probe.name, 503]);
    }
    await allIsWell();
  },
  3 * START_MS,
);

withServers('the table of the operations page is what happened', async () => {
  const table = tableOf(gone);
  if (isWriting) await documentTable(table);
  expect(await documentedTable()).toBe(table);
});
