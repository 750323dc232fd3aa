import { newKey, type Person, signIn } from '@commonplace/acceptance/dist/src/people.js';
import type { List, Workspace } from '@commonplace/acceptance/dist/src/records.js';
import { startSystem } from '@commonplace/acceptance/dist/src/system.js';
import { findPage, inWork, type StoredRecord } from '@commonplace/kit/store';
import { openStoreBeside } from '@commonplace/platform/runtime';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { commonplace } from '../commonplace.js';

/** The fields that the version before did not store. */
const ADDED = {
  agents: { agents: 'nameFold', chat_sessions: 'titleFold' },
  automations: { automations: 'nameFold', schedules: 'nameFold' },
  files: { imports: 'nameFold' },
  identity: { api_keys: 'nameFold' },
};
const NAMES = ['gauge', 'Ｂａｎｋ', 'Weir', 'alder', 'Flume'];
const SORTED = ['alder', 'Ｂａｎｋ', 'Flume', 'gauge', 'Weir'];

let system: Awaited<ReturnType<typeof startSystem>>;
beforeAll(async () => {
  system = await startSystem();
});
afterAll(() => system?.stop());

test('data of the version before are migrated, and listed in the order of folded names', async () => {
  let owner = await signIn(system, system.owner);
  const workspaceId = await create(owner);
  await system.terminate();
  for (const [service, fields] of Object.entries(ADDED)) await makeEarlier(service, fields);

  const check = await commonplace(['migrate', '--check', '--json'], system.places);
  expect([check.code, JSON.parse(check.stdout).pending]).toEqual([1, true]);
  // A system in one process migrates its data itself.
  if (system.mode === 'mesh') {
    await expect(system.restart()).rejects.toThrow();
    const { code, answer } = await json('migrate');
    expect([code, answer.pending]).toEqual([0, false]);
    for (const service of Object.keys(ADDED)) expect(ranIn(answer, service)).toHaveLength(1);
  }
  await system.restart();
  owner = await signIn(system, system.owner);
  for (const path of [
    '/agents?sort=name',
    '/automations?',
    '/agent-schedules?sort=name',
    '/chat-sessions?sort=title',
  ]) {
    expect([path, await namesIn(owner, path)]).toEqual([path, SORTED]);
  }
  for (const path of ['/agent-schedules?', '/chat-sessions?', '/api-keys?', `/workspaces/${workspaceId}/imports?`]) {
    expect([path, await namesIn(owner, `${path}q=bank`)]).toEqual([path, ['Ｂａｎｋ']]);
  }
  const { answer } = await json('migrate', '--check');
  expect(answer.pending).toBe(false);
}, 400_000);

/** Creates records of each kind with each of the names in a workspace. Returns the id of the workspace. */
async function create(owner: Person): Promise<string> {
  const { data: workspace } = await owner.post<Workspace>('/workspaces', { name: 'Weirs' });
  const at = { workspace_id: workspace.id };
  const automation = { ...at, trigger: { type: 'manual' }, actions: [{ id: 'end', type: 'stop' }] };
  for (const name of NAMES) {
    await owner.post('/agents', { name, instructions: 'Answer.' });
    const { data } = await owner.post<{ id: string }>('/automations', { name, ...automation });
    await owner.post('/agent-schedules', { name, automation_id: data.id, cron: '0 5 * * *' });
    await owner.post('/chat-sessions', { title: name, ...at });
    await newKey(owner, ['workspace:read'], { name });
    await owner.post(`/workspaces/${workspace.id}/imports`, { source_type: 'markdown', content: 'x', name });
  }
  return workspace.id;
}

/** Makes the stored data of a service what the version before has stored. */
async function makeEarlier(service: string, fields: Readonly<Record<string, string>>): Promise<void> {
  const { mongodbUrl, dataDir } = placesOf(system.places);
  const beside = await openStoreBeside({ mongodbUrl, dataDir }, service);
  if (beside === undefined) throw new Error(`${service} has stored nothing`);
  const { store } = beside;
  try {
    const change = async (name: string, earlier: (record: StoredRecord) => StoredRecord) => {
      const records = await store.collection<StoredRecord>({ name, indexes: [] });
      const { items } = await findPage(records, {}, [], { limit: 50, offset: 0, cursor: '' });
      expect(items.length).toBeGreaterThan(0);
      await inWork(store, async (work) => {
        for (const record of items) work.replace(records, record, earlier(record));
      });
    };
    for (const [name, field] of Object.entries(fields)) {
      await change(name, (record) => ({ ...record, [field]: undefined }));
    }
    await change('store_format', (record) => ({ ...record, format: 1 }) as StoredRecord);
  } finally {
    await beside.close();
  }
}

const placesOf = (env: NodeJS.ProcessEnv) => ({
  mongodbUrl: env.COMMONPLACE_MONGODB_URL,
  dataDir: env.COMMONPLACE_DATA_DIR ?? '',
});

async function namesIn(owner: Person, path: string): Promise<string[]> {
  const { data } = await owner.get<List<{ name?: string; title?: string }>>(path);
  return data.items.map(({ name, title }) => name ?? title ?? '');
}

async function json(...args: string[]) {
  const { code, stdout } = await commonplace([...args, '--json'], system.places);
  return { code, answer: JSON.parse(stdout) };
}

const ranIn = (answer: { services: { service: string; ran: string[] }[] }, service: string) =>
  answer.services.find((one) => one.service === service)?.ran;
