import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Archived, entriesOf, finished } from '../src/archives.js';
import { api } from '../src/client.js';
import { newFile, sha256 } from '../src/files.js';
import type { Workspace } from '../src/records.js';
import { type OwnSystem, startSystem } from '../src/system.js';

let system: OwnSystem;

beforeAll(async () => {
  system = await startSystem();
}, 90_000);

afterAll(() => system?.stop(), 60_000);

const FILES = 24;
const FILE_BYTES = 3 * 1024 * 1024;

test('an export that is killed goes on after the restart, and holds everything once', async () => {
  const by = api(system, system.owner.apiKey);
  const { data: workspace } = await by.post<Workspace>('/workspaces', { name: 'Heavy' });
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
    // Each time at another moment of it.
    await new Promise((resolve) => setTimeout(resolve, 100 + tries * 150));
    await system.kill();
    await system.restart();
    const done = (await finished(by, workspace.id, begun.data.archive.id)) as Archived['archive'] & {
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
  // At least one of them was stopped on its way.
  expect(attempts).toBeGreaterThan(1);
}, 240_000);
