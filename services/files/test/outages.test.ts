import { AppError, Internal } from '@commonplace/kit/errors';
import { newId } from '@commonplace/kit/id';
import { inWork } from '@commonplace/kit/store';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { ArchiveParts } from '../src/archives/parts.js';
import { type ArchiveRecord, archiveCollection, stepCollection } from '../src/archives/records.js';
import { openArchiveQueue } from '../src/archives/runner.js';
import type { Upload } from '../src/storage/records.js';
import { forgetPurged } from '../src/uploads/purged.js';
import { openUploadQueue } from '../src/uploads/runner.js';
import { openParts, type TestParts } from './parts.js';

/** These tests check that work outlasts a bucket that is unavailable, and that other failures still end it. */

const AWAY = new AppError('UNAVAILABLE', 'dependency_unavailable', 'The file store is not available.');

let played: TestParts;
beforeEach(async () => {
  played = await openParts();
});
afterEach(() => played.close());

/** Makes a bucket of the folder that fails with an error whenever it is asked for a size, or for its owner. */
function failing(error: Error) {
  const fail = () => Promise.reject(error);
  return { ...played.parts.bytes, exclusive: false, size: fail, installationId: fail };
}

/** Runs an upload that has failed many times already, once. Returns its record. */
async function runUpload(error: Error): Promise<Upload | undefined> {
  const now = new Date().toISOString();
  const record = await inWork(played.parts.store, async (work) =>
    work.insert(played.parts.uploads, {
      ...{ id: newId(), tenant: newId(), workspaceId: newId(), fileId: newId(), blobId: newId() },
      ...{ replaces: false, how: 'single' as const, name: 'a.bin', attempts: 0, lookAt: now, failures: 100 },
      ...{ expiresAt: '2999-01-01T00:00:00.000Z', actor: { type: 'user', id: newId(), name: 'A' }, createdAt: now },
    }),
  );
  const parts = played.other({ bytes: failing(error) });
  const queue = await openUploadQueue({ ...parts, partsOf: () => parts });
  await queue.runNow(record);
  await queue.close();
  return played.parts.uploads.get(record.id);
}

test('an upload waits for an unavailable bucket, and fails of another error', async () => {
  expect(await runUpload(AWAY)).toMatchObject({ failures: 101 });
  expect(await runUpload(Internal())).toBeUndefined();
});

/** Runs an export once that has failed `failures` times already, `waits` times for an outage. Returns its record. */
async function runExport(error: Error, failures: number, waits = 0): Promise<ArchiveRecord | undefined> {
  const parts: ArchiveParts = {
    ...played.parts,
    archives: await played.parts.store.collection(archiveCollection),
    archiveSteps: await played.parts.store.collection(stepCollection),
    treeExports: {} as never,
    auth: { actAs: () => Promise.reject(error) } as never,
  };
  const now = new Date().toISOString();
  const record = await inWork(parts.store, async (work) =>
    work.insert(parts.archives, {
      ...{ attempt: 0, total: 0, resources: 0, files: 0, failed: 0, faults: [], cursor: '' },
      ...{ steps: 0, parts: 0, offset: 0, entries: 0, format: 'native' as const, status: 'running' as const },
      ...{
        id: newId(),
        tenant: newId(),
        workspaceId: newId(),
        userId: newId(),
        orgId: '',
        workspace: {},
        failures,
        waits,
      },
      include: { files: true, comments: true, snapshots: true, permissions: true },
      ...{ createdBy: { type: 'user', id: newId(), name: 'P' }, createdAt: now, leaseUntil: now },
    }),
  );
  const queue = await openArchiveQueue(parts);
  await queue.runNow(record);
  await queue.close();
  return parts.archives.get(record.id);
}

test('an export outlasts 20 minutes without something that it needs, and not as many other failures', async () => {
  expect(await runExport(AWAY, 20, 20)).toMatchObject({ status: 'running', failures: 21 });
  expect(await runExport(AWAY, 29, 22)).toMatchObject({ status: 'failed' });
  expect(await runExport(Internal(), 7)).toMatchObject({ status: 'failed' });
});

test('the event of a purged file is done without its bytes, which the sweeper deletes', async () => {
  const parts = played.other({ bytes: failing(AWAY) });
  const fileId = newId();
  const now = new Date().toISOString();
  await inWork(parts.store, async (work) => {
    const about = { id: fileId, tenant: newId(), workspaceId: newId(), status: 'ready' as const };
    work.insert(parts.files, { ...about, name: 'a', versions: 0, createdAt: now, updatedAt: now } as never);
    work.insert(parts.blobs, { id: newId(), uses: 0, deadAt: now } as never);
  });
  let handle: (events: readonly object[]) => Promise<void> = async () => {};
  const bus = {
    subscribe: async (_: unknown, handler: typeof handle) => {
      handle = handler;
    },
  };
  await forgetPurged(parts, bus as never);
  const type = 'commonplace.resources.resource.purged';
  await handle([{ type, id: newId(), subject: fileId, data: { resourceIds: [fileId] } }]);
  expect(await parts.files.get(fileId)).toBeUndefined();
});
