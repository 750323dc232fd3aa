import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Api, api } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import { linkOf, newFile } from '../src/files.js';
import type { Resource, Workspace } from '../src/records.js';
import { mode, type OwnSystem, startSystem } from '../src/system.js';

const DISK_MIB = 96;
const PIECE = Buffer.alloc(64 * 1024, 1);
const disk = mode === 'embedded' ? mountDisk() : undefined;
/** Only root may mount a disk, and not in every container; records of a mesh are on the disks of other servers. */
const onDisk = disk === undefined ? describe.skip : describe;

function mountDisk(): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'commonplace-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MIB}m`, 'tmpfs', folder], { stdio: 'ignore' });
    return folder;
  } catch {
    rmSync(folder, { recursive: true });
    return undefined;
  }
}

onDisk('a system whose disk is full', () => {
  const folder = disk ?? '';
  const filler = join(folder, 'filler');
  let system: OwnSystem;
  let by: Api;
  let workspace: Workspace;
  let documents: Resource[];
  let file: { readonly id: string; readonly url: string };

  const create = (name: string) =>
    by.post<Resource>('/resources', { type: 'document', name, workspace_id: workspace.id, content: 'Some words.' });

  /** Fills the disk except for a number of bytes. */
  function fill(left: number): void {
    rmSync(filler, { force: true });
    const file = openSync(filler, 'w');
    try {
      for (;;) {
        const { bavail, bsize } = statfsSync(folder);
        const room = bavail * bsize - left;
        if (left > 0 && room < PIECE.length) return;
        writeSync(file, PIECE);
      }
    } catch (error) {
      // The system may use space at the same time.
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    } finally {
      closeSync(file);
    }
  }

  beforeAll(async () => {
    system = await startSystem({ COMMONPLACE_DATA_DIR: join(folder, 'data') });
    by = api(system, system.owner.apiKey);
    workspace = (await by.post<Workspace>('/workspaces', { name: 'Full' })).data;
    documents = [];
    for (let i = 0; i < 12; i++) documents.push((await create(`Document ${i}`)).data);
    const made = await newFile(by, { name: 'a.txt', workspace_id: workspace.id }, 'Bytes.');
    const { id } = made.data.resource;
    file = { id, url: (await linkOf(by, id)).download_url };
  }, 180_000);

  afterAll(async () => {
    await system?.stop();
    execFileSync('umount', ['-l', folder]);
    rmSync(folder, { recursive: true, force: true });
  });

  const storage = async () => {
    const answer = await fetch(`${system.baseUrl}/health/ready`);
    return [answer.status, ((await answer.json()) as { details: { storage: string } }).details.storage];
  };

  test.each([2 * 2 ** 20, 0])('with %i bytes left allows reads and deletions, and refuses to grow', async (left) => {
    await eventually(async () => expect(await storage()).toEqual([200, 'ok']));
    fill(left);
    await eventually(async () => expect(await storage()).toEqual([200, 'full']));
    expect(system.stderr()).toContain('storage.full');
    const refused = await create('One too many');
    expect([refused.status, refused.error.code, refused.error.retryable]).toEqual([503, 'storage_full', true]);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    const bytes = await newFile(by, { name: 'b.txt', workspace_id: workspace.id }, 'More bytes.');
    expect([bytes.status, bytes.error.code]).toEqual([503, 'storage_full']);

    expect((await by.get(`/resources/${documents[0]?.id}`)).status).toBe(200);
    expect((await fetch(file.url)).status).toBe(200);
    const [first, second] = documents.splice(0, 2) as [Resource, Resource];
    expect((await by.del(`/resources/${first.id}`)).status).toBe(200);
    expect((await by.del(`/resources/${second.id}`)).status).toBe(200);
    expect((await by.del(`/workspaces/${workspace.id}/trash`)).status).toBeLessThan(300);
    await eventually(async () => expect((await by.get(`/resources/${first.id}`)).error.code).toBe('not_found'));

    rmSync(filler);
    await eventually(async () => expect((await create('Room again')).status).toBe(201));
    expect(await storage()).toEqual([200, 'ok']);
    const { data } = await by.get<Resource>(`/resources/${documents[0]?.id}`);
    expect(data.name).toBe(documents[0]?.name);
  });

  test('can be started and stopped', async () => {
    fill(0);
    expect(await system.terminate()).toBe(0);
    await system.restart();
    expect((await by.get(`/resources/${documents[0]?.id}`)).status).toBe(200);
    expect((await create('One too many')).error.code).toBe('storage_full');
    rmSync(filler);
    await eventually(async () => expect((await create('Room again')).status).toBe(201));
  }, 120_000);
});
