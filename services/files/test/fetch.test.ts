import { Readable } from 'node:stream';
import type { Fetched } from '@commonplace/kit/fetch';
import { newId } from '@commonplace/kit/id';
import { inWork } from '@commonplace/kit/store';
import { holdJob } from '@commonplace/kit/testing';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { BlobStore } from '../src/blobs/port.js';
import { type Upload, uploadQueue } from '../src/storage/records.js';
import { fetchUpload } from '../src/uploads/fetcher.js';
import type { SweeperParts } from '../src/uploads/parts.js';
import { openParts, type TestParts } from './parts.js';

let played: TestParts;
let parts: SweeperParts;
let status: number;
/** What the store of bytes fails with. */
let failure: Error | undefined;

beforeAll(async () => {
  played = await openParts();
  const { bytes, guard } = played.parts;
  const put: BlobStore['put'] = async (...args) => {
    const stored = await bytes.put(...args);
    if (failure !== undefined) throw failure;
    return stored;
  };
  const fetch = async () =>
    ({ status, headers: {}, body: Readable.from([Buffer.from('words')]) }) as unknown as Fetched;
  parts = played.other({ bytes: { ...bytes, put }, guard: { ...guard, of: async () => ({ ...guard, fetch }) } });
});
afterAll(() => played.close());
beforeEach(() => {
  [status, failure] = [200, undefined];
});

async function newUpload(): Promise<Upload> {
  const now = new Date().toISOString();
  const place = { tenant: newId(), workspaceId: newId() };
  const file = { id: newId(), ...place, status: 'pending_upload', saidType: '', saidBytes: 0, versions: 0 } as const;
  return inWork(parts.store, async (work) => {
    const revision = newId();
    work.insert(parts.files, { ...file, revision, createdAt: now, updatedAt: now });
    played.nodes.set(file.id, { revision, file: undefined });
    return work.insert(parts.uploads, {
      ...{ id: revision, ...place, fileId: file.id, replaces: false, how: 'fetch', name: 'a.txt', blobId: newId() },
      ...{ sourceUrl: 'https://example.com/a.txt', attempts: 0, lookAt: now, expiresAt: '2999-01-01T00:00:00.000Z' },
      ...{ actor: { type: 'user', id: newId(), name: 'A' }, createdAt: now },
    });
  });
}

/** Runs the job of an upload once, as a queue does. Returns the error that the queue sees. */
async function run({ id }: Upload): Promise<unknown> {
  const record = (await parts.uploads.get(id)) as Upload;
  const counted = await inWork(parts.store, async (work) =>
    work.replace(parts.uploads, record, { ...record, attempts: record.attempts + 1 }),
  );
  return fetchUpload(parts, await holdJob(parts.store, uploadQueue, counted)).catch((error: unknown) => error);
}
const fileOf = ({ fileId }: Upload) => parts.files.get(fileId);

test('tries a source that does not answer three times, then reports it', async () => {
  const upload = await newUpload();
  status = 503;
  for (let times = 0; times < 2; times++) {
    expect(await run(upload)).toBeUndefined();
    expect(await fileOf(upload)).toMatchObject({ status: 'pending_upload' });
  }
  expect(await run(upload)).toBeUndefined();
  expect(await fileOf(upload)).toMatchObject({ status: 'failed', error: { code: 'dependency_unavailable' } });
});

test('does not count own failures as attempts of the source', async () => {
  const upload = await newUpload();
  failure = new Error('the disk is gone');
  for (let times = 0; times < 5; times++) {
    expect(await run(upload)).toBe(failure);
    expect(await fileOf(upload)).toMatchObject({ status: 'pending_upload' });
  }
  expect(await parts.intents.count({ until: { gt: '' } })).toBe(0);
  failure = undefined;
  status = 503;
  expect(await run(upload)).toBeUndefined();
  expect(await fileOf(upload)).toMatchObject({ status: 'pending_upload' });
  status = 200;
  expect(await run(upload)).toBeUndefined();
  expect(await fileOf(upload)).toMatchObject({ status: 'ready' });
});

test('makes bytes no version of a file that is gone by the time that they have arrived', async () => {
  const upload = await newUpload();
  played.nodes.delete(upload.fileId);
  expect(await run(upload)).toBeUndefined();
  expect(await fileOf(upload)).toMatchObject({ status: 'failed', error: { code: 'expired_link' } });
});
