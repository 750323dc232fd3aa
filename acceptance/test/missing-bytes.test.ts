import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { openBlobStore } from '@commonplace/files/blobs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Api, api } from '../src/client.js';
import { linkOf, newFile } from '../src/files.js';
import { finished } from '../src/imports.js';
import type { Import, Workspace } from '../src/records.js';
import { mode, type OwnSystem, startSystem } from '../src/system.js';

let system: OwnSystem;
let by: Api;
let workspace: Workspace;

beforeAll(async () => {
  system = await startSystem({ COMMONPLACE_RATE_LIMITS: 'off' });
  by = api(system, system.owner.apiKey);
  workspace = (await by.post<Workspace>('/workspaces', { name: 'Files' })).data;
}, 180_000);
afterAll(() => system?.stop());

/** Deletes all bytes of files without the system's knowledge. */
async function removeAllBytes(): Promise<void> {
  const { COMMONPLACE_DATA_DIR: dataDir = '', COMMONPLACE_S3_URL: s3Url } = system.places;
  if (mode === 'embedded') return rm(join(dataDir, 'files/blobs'), { recursive: true });
  const store = await openBlobStore({ s3Url, s3PublicUrl: undefined }, '');
  for await (const { key } of store.list('')) await store.delete(key);
  await store.close();
}

test('a signed URL of missing bytes returns 500 with a code, and so does HEAD', async () => {
  const reply = await newFile(by, { name: 'photo.txt', workspace_id: workspace.id }, 'Some words.');
  const id = reply.data.resource.id;
  const before = await linkOf(by, id);
  expect((await fetch(before.download_url)).status).toBe(200);
  await removeAllBytes();
  // The bucket itself answers its own URLs that were signed before.
  const { download_url: url } = mode === 'embedded' ? before : await linkOf(by, id);
  const answer = await fetch(url);
  expect(answer.status).toBe(500);
  expect(await answer.json()).toMatchObject({
    error: { type: 'server', code: 'bytes_missing', retryable: false },
    request_id: expect.stringMatching(/^req_/),
  });
  expect(answer.headers.get('content-disposition')).toBeNull();
  expect(answer.headers.get('etag')).toBeNull();
  expect(answer.headers.get('cache-control')).toBe('no-store');
  const range = await fetch(url, { headers: { range: 'bytes=2-4' } });
  expect([range.status, range.headers.get('content-range')]).toEqual([500, null]);
  await range.body?.cancel();
  expect((await fetch(url, { method: 'HEAD' })).status).toBe(500);
  // New files are served as usual.
  const next = (await newFile(by, { name: 'next.txt', workspace_id: workspace.id }, 'More words.')).data;
  expect(await (await fetch((await linkOf(by, next.resource.id)).download_url)).text()).toBe('More words.');
});

test('a published file with missing bytes is an error as well', async () => {
  const reply = await newFile(by, { name: 'open.txt', workspace_id: workspace.id }, 'For everybody.');
  const { id } = reply.data.resource;
  const published = await by.post<{ url: string }>(`/resources/${id}/publish`, { allow_download: true });
  const page = await (await fetch(published.data.url)).text();
  const path = /(\/p\/[^"/]+\/files\/[^"]+)/.exec(page)?.[1] ?? '';
  expect((await fetch(system.baseUrl + path)).status).toBe(200);
  await removeAllBytes();
  expect((await fetch(system.baseUrl + path)).status).toBe(500);
  expect((await fetch(system.baseUrl + path, { method: 'HEAD' })).status).toBe(500);
});

test('an import of a file with missing bytes fails with a reason', async () => {
  const { data } = await newFile(by, { name: 'page.md', workspace_id: workspace.id }, '# A page');
  await linkOf(by, data.resource.id);
  await removeAllBytes();
  const body = { source_type: 'markdown', file_id: data.resource.id };
  const begun = await by.post<Import>(`/workspaces/${workspace.id}/imports`, body);
  const ended = await finished(by, begun.data.id);
  expect(ended).toMatchObject({ status: 'failed', error: { code: 'bytes_missing', retryable: false } });
});
