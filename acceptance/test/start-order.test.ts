import { mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEventInstallation } from '@commonplace/adapters/nats';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { api } from '../src/client.js';
import { openFeed } from '../src/event-feed.js';
import { eventually } from '../src/eventually.js';
import { createLooseMesh, type LooseMesh, SERVERS } from '../src/loose-mesh.js';
import type { List, Resource, Workspace } from '../src/records.js';
import { mode } from '../src/system.js';

/** Number of random orders, in addition to the one with the servers last. */
const ORDERS = 12;
const START_MS = 240_000;

const home = mkdtempSync(join(tmpdir(), 'commonplace-start-order-'));
const withServers = mode === 'mesh' ? test : test.skip;
let mesh: LooseMesh;
let apiKey: string | undefined;

beforeAll(async () => {
  if (mode === 'mesh') mesh = await createLooseMesh(home);
}, START_MS);
afterEach(() => mesh?.stop());
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** Waits until the mesh is ready, and writes and reads through all services. */
async function works(): Promise<void> {
  const ready = async () => expect((await fetch(`${mesh.baseUrl}/health/ready`)).status).toBe(200);
  await eventually(ready, START_MS);
  if (apiKey === undefined) {
    expect(await mesh.bootstrap()).toBe(0);
    apiKey = (JSON.parse(readFileSync(mesh.bootstrapFile, 'utf8')) as { api_key: string }).api_key;
  }
  const by = api(mesh, apiKey);
  await eventually(async () => {
    const { status, data } = await by.post<Workspace>('/workspaces', { name: 'Started' });
    expect(status).toBe(201);
    expect((await by.get(`/workspaces/${data.id}`)).status).toBe(200);
    expect((await by.get('/notifications')).status).toBe(200);
  });
}

function shuffled<T>(values: readonly T[]): T[] {
  const left = [...values];
  const order: T[] = [];
  while (left.length > 0) order.push(...left.splice(Math.floor(Math.random() * left.length), 1));
  return order;
}

withServers(
  'processes that start before their servers wait, and name what they wait for',
  async () => {
    const services = mesh.parts.filter((part) => !SERVERS.includes(part));
    for (const part of services) await mesh.start(part);
    const stores = services.filter((part) => part !== 'gateway');
    const allWait = (server: string) => () => {
      for (const part of stores) {
        expect(mesh.stderr(part)).toMatch(new RegExp(`"server":"${server}".*"event":"start.waiting"`));
      }
    };
    await eventually(allWait('MongoDB'), START_MS);
    await mesh.start('mongodb');
    await eventually(allWait('NATS'), START_MS);
    await mesh.start('nats');
    await works();
  },
  2 * START_MS,
);

for (let number = 1; number <= ORDERS; number++) {
  withServers(
    `the mesh comes up in random order ${number}`,
    async () => {
      const order = shuffled(mesh.parts);
      try {
        for (const part of order) await mesh.start(part);
        await works();
      } catch (error) {
        throw new Error(`in the order ${order.join(', ')}`, { cause: error });
      }
    },
    2 * START_MS,
  );
}

/** Services that are replaced while NATS is away, in this order. */
const REPLACED = ['tenancy', 'resources', 'search', 'messaging', 'agents'];

/** Ends NATS under a mesh that works. The installation exists by now: its first start would wait for NATS. */
async function loseNats() {
  for (const part of mesh.parts) await mesh.start(part);
  await works();
  const by = api(mesh, apiKey as string);
  const workspace = (await by.post<Workspace>('/workspaces', { name: 'Without NATS' })).data;
  await mesh.kill('nats');
  return { by, workspace };
}

withServers(
  'streams open and agents work while NATS is away',
  async () => {
    const { by, workspace } = await loseNats();
    const feed = await openFeed(mesh, apiKey as string, `?workspace_id=${workspace.id}`);
    await feed.close();
    const run = await by.post<{ id: string }>('/agent-runs', { input: 'Who is there?', workspace_id: workspace.id });
    expect(run.status).toBe(201);
    await eventually(async () => {
      expect((await by.get(`/agent-runs/${run.data.id}`)).data).toMatchObject({ status: 'completed', attempt: 1 });
    }, START_MS);
  },
  2 * START_MS,
);

withServers(
  'while NATS is away a mesh starts and replaces processes, and catches up when it is back',
  async () => {
    const { by, workspace } = await loseNats();
    for (const part of REPLACED) await mesh.kill(part);
    for (const part of REPLACED) await mesh.start(part);
    const body = { type: 'document', name: 'Cormorants', workspace_id: workspace.id, content: 'Cormorants dive.' };
    const page = await eventually(async () => {
      const { status, data } = await by.post<Resource>('/resources', body);
      expect(status).toBe(201);
      return data;
    }, START_MS);
    await eventually(async () => expect((await fetch(`${mesh.baseUrl}/health/ready`)).status).toBe(200), START_MS);
    for (const part of REPLACED) {
      expect(mesh.stderr(part)).toMatch(/"server":"NATS".*"event":"start\.without_server"/);
    }
    await mesh.start('nats');
    await eventually(async () => {
      const { data } = await by.post<List<{ resource: Resource }>>('/search', { query: 'cormorants', mode: 'keyword' });
      expect(data.items.map(({ resource }) => resource.id)).toContain(page.id);
    }, START_MS);
  },
  3 * START_MS,
);

/** Attempts to connect, with growing pauses, after which a start no longer waits for the first connection. */
const SERVING_AFTER = 7;

withServers(
  'a process that started without NATS ends if its streams turn out to be those of another installation',
  async () => {
    const own = join(home, 'nats');
    const kept = join(home, 'own-streams');
    renameSync(own, kept);
    try {
      await mesh.start('nats');
      const streams = await openEventInstallation({ url: mesh.natsUrl });
      await streams.claim('another-installation');
      await streams.close();
      await mesh.kill('nats');
      await mesh.start('mongodb');
      await mesh.start('tenancy');
      const attempts = () => mesh.stderr('tenancy').match(/"event":"nats\.unreachable"/g)?.length ?? 0;
      await eventually(() => expect(attempts()).toBeGreaterThanOrEqual(SERVING_AFTER), START_MS);
      expect(mesh.stderr('tenancy')).toMatch(/"event":"start\.without_server"/);
      await mesh.start('nats');
      expect(await mesh.exited('tenancy')).toBe(0);
      expect(mesh.stderr('tenancy')).toMatch(/belongs to installation another-installation.*"event":"nats\.foreign"/);
    } finally {
      await mesh.kill('nats');
      rmSync(own, { recursive: true, force: true });
      renameSync(kept, own);
    }
  },
  2 * START_MS,
);
