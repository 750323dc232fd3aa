import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import { type Entries, entriesOf, exported } from '../src/archives.js';
import { type Api, api } from '../src/client.js';
import { eventually } from '../src/eventually.js';
import { newFile, putBytes, type Upload } from '../src/files.js';
import type { Workspace } from '../src/records.js';
import { treeIn } from '../src/same-archive.js';
import { standingSystem } from '../src/standing.js';
import { type System, testData } from '../src/system.js';

interface Import {
  readonly id: string;
  readonly status: string;
  readonly error: object | null;
}

const HANDBOOK = join(testData() ?? '', 'handbook.zip');
const ifThere = existsSync(HANDBOOK) ? test : test.skip;

let system: System;
let by: Api;

beforeAll(async () => {
  system = await standingSystem();
  by = api(system, system.owner.apiKey);
}, 90_000);

/** Imports an archive from a file of another workspace. */
async function imported(name: string, source_type: string, bytes: Buffer): Promise<Workspace> {
  const shelf = (await by.post<Workspace>('/workspaces', { name: 'Shelf' })).data;
  const fields = { name: `${name}.zip`, workspace_id: shelf.id, size_bytes: bytes.length };
  const { resource, upload } = (await newFile(by, fields)).data;
  expect((await putBytes(upload as Upload, bytes)).ok).toBe(true);
  const workspace = (await by.post<Workspace>('/workspaces', { name })).data;
  const body = { source_type, file_id: resource.id, name: 'Root' };
  const begun = await eventually(async () => (await by.post<Import>(`/workspaces/${workspace.id}/imports`, body)).data);
  await eventually(async () => {
    const { status, error } = (await by.get<Import>(`/imports/${begun.id}`)).data;
    if (['queued', 'running'].includes(status)) throw new Error(`the import is ${status}`);
    expect([status, error]).toEqual([expect.stringMatching(/^completed/), null]);
  }, 240_000);
  return workspace;
}

async function archiveOf(workspace: Workspace): Promise<{ bytes: Buffer; entries: Entries }> {
  const done = await exported(by, workspace.id);
  expect(done.manifest?.errors).toEqual([]);
  const bytes = Buffer.from(await (await fetch(done.download_url ?? '')).arrayBuffer());
  return { bytes, entries: await entriesOf(done) };
}

ifThere(
  'the handbook comes out of an archive as it went in',
  async () => {
    const first = await archiveOf(await imported('Handbook', 'markdown_zip', readFileSync(HANDBOOK)));
    const again = await archiveOf(await imported('Again', 'native_zip', first.bytes));
    const before = treeIn(first.entries);
    // The archive's own root stands below that of the import.
    const after = treeIn(again.entries, 'Root');
    expect(before.size).toBeGreaterThan(883);
    expect([...after.keys()].sort()).toEqual([...before.keys()].sort());
    const different = [...before].filter(([path, one]) => JSON.stringify(after.get(path)) !== JSON.stringify(one));
    expect(different.map(([path, one]) => [path, ...differences(one, after.get(path))])).toEqual([]);
  },
  600_000,
);

/** The fields in which two records differ, with what both hold. */
function differences(one: unknown, other: unknown): unknown[] {
  const [a, b] = [one, other] as [Record<string, unknown>, Record<string, unknown>];
  return Object.keys(a).flatMap((key) => {
    const [before, after] = [JSON.stringify(a[key]) ?? '', JSON.stringify(b[key]) ?? ''];
    const at = [...before].findIndex((char, i) => char !== after[i]);
    return before === after ? [] : [[key, before.slice(at - 60, at + 60), after.slice(at - 60, at + 60)]];
  });
}
