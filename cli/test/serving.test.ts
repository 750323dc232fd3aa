import { randomBytes } from 'node:crypto';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Api, api } from '@commonplace/acceptance/dist/src/client.js';
import { download, linkOf, newFile, sha256 } from '@commonplace/acceptance/dist/src/files.js';
import { startScript } from '@commonplace/acceptance/dist/src/process.js';
import type { Resource, Workspace } from '@commonplace/acceptance/dist/src/records.js';
import { freePort, inherited, type OwnSystem, ROOT, startSystem } from '@commonplace/acceptance/dist/src/system.js';
import { RESTORE_MARKER } from '@commonplace/platform/runtime';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { commonplace } from './commonplace.js';

let system: OwnSystem;
let home: string;
let by: Api;
let workspace: Workspace;
const names = new Map<string, string>();
const sums = new Map<string, string>();

const EMBEDDED = join(ROOT, 'services/all/dist/src/main.js');

beforeAll(async () => {
  system = await startSystem();
  home = dirname(system.bootstrapFile);
  by = api(system, system.owner.apiKey);
  workspace = (await by.post<Workspace>('/workspaces', { name: 'Kept' })).data;
  for (let i = 0; i < 30; i++) await addDocument(i);
  for (let i = 0; i < 8; i++) await addFile(i);
}, 120_000);

afterAll(() => system?.stop());

async function addDocument(i: number): Promise<Resource> {
  const fields = { type: 'document', name: `Document ${i}`, workspace_id: workspace.id, content: `Text ${i}` };
  const { data } = await by.post<Resource>('/resources', fields);
  names.set(data.id, data.name);
  return data;
}

async function addFile(i: number): Promise<void> {
  const bytes = randomBytes(20_000);
  const { data } = await newFile(by, { name: `${i}.bin`, workspace_id: workspace.id }, bytes);
  sums.set(data.resource.id, sha256(bytes));
}

/** Starts an embedded system on a data folder. */
async function startOn(dataDir: string) {
  const port = await freePort();
  const running = startScript(EMBEDDED, {
    ...inherited(),
    COMMONPLACE_PORT: String(port),
    COMMONPLACE_DATA_DIR: dataDir,
    COMMONPLACE_RATE_LIMITS: 'off',
    COMMONPLACE_EMBEDDINGS: 'off',
  });
  return { running, baseUrl: `http://127.0.0.1:${port}` };
}

test('a backup of a running system is restored to one that serves the same', async () => {
  const before = { names: new Map(names), sums: new Map(sums) };
  let stop = false;
  const busy = (async () => {
    for (let i = 100; !stop; i++) {
      const { id } = await addDocument(i);
      if (i % 3 === 0) await by.del(`/resources/${id}`);
      if (i % 5 === 0) await addFile(i);
      // Writes at a person's pace, since everything written has to be read back from two backups.
      await sleep(10);
    }
  })();
  const backups = ['backup', 'backup.tar'];
  try {
    for (const to of backups) {
      const env = { COMMONPLACE_DATA_DIR: join(home, 'data') };
      const { code, stdout, stderr } = await commonplace(['backup', '--to', join(home, to), '--json'], env);
      expect([code, stderr]).toEqual([0, expect.stringContaining('Writing the backup')]);
      expect(JSON.parse(stdout)).toMatchObject({ missingBlobs: [], bytesOfFiles: 'included', warnings: [] });
    }
  } finally {
    stop = true;
    await busy;
  }
  for (const from of backups) {
    const to = join(home, `restored-${from}`);
    const { code } = await commonplace(['restore', '--from', join(home, from), '--to', to]);
    expect(code).toBe(0);
    const { running, baseUrl } = await startOn(to);
    try {
      await running.says('Docs  ', 150_000);
      const there = api({ baseUrl }, system.owner.apiKey);
      for (const [id, name] of before.names) {
        expect((await there.get<Resource>(`/resources/${id}`)).data.name).toBe(name);
      }
      for (const [id, sum] of before.sums) {
        const { download_url: url } = await linkOf(there, id);
        expect(sha256((await download(url.replace(/^https?:\/\/[^/]+/, baseUrl))).bytes)).toBe(sum);
      }
    } finally {
      await running.terminate();
    }
  }
}, 240_000);

test('an interrupted restore is detected as incomplete, and can be repeated', async () => {
  const from = join(home, 'to-be-cut');
  const to = join(home, 'cut');
  expect((await commonplace(['backup', '--to', from, '--data-dir', join(home, 'data')])).code).toBe(0);
  const { code } = await commonplace(['restore', '--from', from, '--to', to], {}, (text, kill) => {
    if (text.includes('Writing the data folder')) kill();
  });
  expect(code).toBeNull();
  expect(existsSync(join(to, RESTORE_MARKER))).toBe(true);
  // The kill may hit any file. An empty key file, for one, must not be reported before the marker.
  writeFileSync(join(to, 'secret.key'), '');
  const { running } = await startOn(to);
  expect(await running.exited).toBe(78);
  expect(running.stderr()).toContain('was not restored completely');
  expect((await commonplace(['backup', '--to', join(home, 'none'), '--data-dir', to])).code).not.toBe(0);
  expect((await commonplace(['restore', '--from', from, '--to', to])).code).toBe(0);
  expect(existsSync(join(to, RESTORE_MARKER))).toBe(false);
  const again = await startOn(to);
  await again.running.says('Docs  ', 150_000);
  await again.running.terminate();
  rmSync(to, { recursive: true });
}, 180_000);
