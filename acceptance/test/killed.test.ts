import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Archived, finished as archived, entriesOf } from '../src/archives.js';
import { type Api, api } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import { newFile, sha256 } from '../src/files.js';
import { archive, finished, inline } from '../src/imports.js';
import type { Import, Resource, SearchAnswer, Workspace } from '../src/records.js';
import { type OwnSystem, startSystem } from '../src/system.js';

/** Tests that the work of every killed process continues after the next start. */

/** A mesh of new processes takes a while on a busy machine. */
const RESTART_MS = 150_000;

let system: OwnSystem;
let by: Api;

beforeAll(async () => {
  system = await startSystem();
  by = api(system, system.owner.apiKey);
});

afterAll(() => system?.stop());

async function killAndRestart(): Promise<void> {
  await system.kill();
  await system.restart();
}

const newWorkspace = async (name: string) => (await by.post<Workspace>('/workspaces', { name })).data;

test(
  'created resources are found',
  async () => {
    const workspace = await newWorkspace('Fresh');
    const ids: string[] = [];
    for (let i = 0; i < 20; i++) {
      const body = { type: 'document', name: `Platypus ${i}`, workspace_id: workspace.id };
      ids.push((await by.post<Resource>('/resources', body)).data.id);
    }
    await killAndRestart();
    await eventually(async () => {
      const query = { query: 'platypus', mode: 'keyword', workspace_ids: [workspace.id], limit: 50 };
      const { data } = await by.post<SearchAnswer>('/search', query);
      expect(data.items.map(({ resource }) => resource.id).sort()).toEqual([...ids].sort());
    });
  },
  RESTART_MS,
);

test(
  'a repeated request gets the same response as the first one',
  async () => {
    const body = { type: 'folder', name: 'Restarted', workspace_id: (await newWorkspace('Writes')).id };
    const headers = { 'Idempotency-Key': randomUUID() };
    const first = await by.post<Resource>('/resources', body, { headers });
    await killAndRestart();
    const again = await by.post<Resource>('/resources', body, { headers });
    expect([again.data.id, again.headers.get('idempotency-replayed')]).toEqual([first.data.id, 'true']);
  },
  RESTART_MS,
);

test(
  'an import is finished',
  async () => {
    const workspace = await newWorkspace('Imports');
    const pages = Object.fromEntries(
      Array.from({ length: 400 }, (_, i) => [`p/${i}.md`, `# Page ${i}\n\n[next](${i + 1}.md)`]),
    );
    const body = { source_type: 'markdown_zip', ...inline(archive(pages)) };
    const { data } = await by.post<Import>(`/workspaces/${workspace.id}/imports`, body);
    await eventually(async () => {
      const { progress } = (await by.get<Import>(`/imports/${data.id}`)).data;
      expect(progress.processed).toBeGreaterThan(0);
    });
    await killAndRestart();
    const done = await finished(by, data.id, 90_000);
    expect(done).toMatchObject({
      status: 'completed',
      stats: { documents: 400, links_rewritten: 399, links_broken: 1 },
    });
    const list = `/workspaces/${workspace.id}/resources?parent_id=${done.root_resource_id}&recursive=true&limit=1`;
    expect((await by.get(list)).page.total).toBe(401);
  },
  RESTART_MS,
);

const FILES = 24;
const FILE_BYTES = 3 * 1024 * 1024;

test('an export continues, and contains everything once', async () => {
  const workspace = await newWorkspace('Heavy');
  const sums = new Map<string, string>();
  for (let i = 0; i < FILES; i++) {
    const bytes = randomBytes(FILE_BYTES);
    const { data } = await newFile(by, { name: `${i}.bin`, workspace_id: workspace.id }, bytes);
    sums.set(`files/${data.resource.id}`, sha256(bytes));
  }
  let attempts = 1;
  for (let tries = 0; tries < 5 && attempts === 1; tries++) {
    const begun = await by.post<Archived>(`/workspaces/${workspace.id}/archive`, { mode: 'export' });
    expect(begun.status).toBe(202);
    // Kills at different moments: once a number of resources is exported, or the export has ended.
    await eventually(async () => {
      const { latest_archive: latest } = (await by.get<Archived['workspace']>(`/workspaces/${workspace.id}`)).data;
      if (['queued', 'running'].includes(latest?.status ?? '')) {
        expect(latest?.status).toBe('running');
        expect(latest?.progress?.processed).toBeGreaterThanOrEqual(tries);
      }
    });
    await killAndRestart();
    const done = (await archived(by, workspace.id, begun.data.archive.id)) as Archived['archive'] & {
      readonly attempt: number;
    };
    expect(done).toMatchObject({ status: 'completed', manifest: { resource_count: FILES, file_count: FILES } });
    const entries = await entriesOf(done);
    const found = [...entries].filter(([path]) => path.startsWith('files/'));
    expect(new Map(found.map(([path, bytes]) => [path, sha256(bytes)]))).toEqual(sums);
    expect(entries.size).toBe(
      FILES * 2 + [...entries.keys()].filter((path) => path.startsWith('checksums/')).length + 2,
    );
    attempts = done.attempt;
  }
  // At least one of them was interrupted.
  expect(attempts).toBeGreaterThan(1);
}, 240_000);
