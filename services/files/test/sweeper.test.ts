import { createHash, randomBytes } from 'node:crypto';
import { newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import { inWork } from '@commonplace/kit/store';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { blobKey, thumbnailKey } from '../src/domain/layout.js';
import { addVersion } from '../src/storage/add-version.js';
import { beginAttempt } from '../src/storage/attempt.js';
import type { Upload, Version } from '../src/storage/records.js';
import { deleteDeadBlobs } from '../src/storage/release.js';
import { createFileTextHandlers } from '../src/texts/handlers/file-texts.js';
import { createPendingTexts } from '../src/texts/read-text.js';
import { completeUpload, missingParts } from '../src/uploads/complete.js';
import type { SweeperParts } from '../src/uploads/parts.js';
import { purgeFile } from '../src/uploads/purge.js';
import { createSweeper } from '../src/uploads/sweeper.js';
import { openParts, type TestParts } from './parts.js';

const actor = { type: 'user', id: newId(), name: 'P' } as const;
const place = { tenant: newId(), workspaceId: newId() };
const MINUTE = 60_000;

let played: TestParts;
let parts: SweeperParts;

beforeEach(async () => {
  played = await openParts();
  parts = played.parts;
});
afterEach(() => played.close());

const sweep = (by: SweeperParts = played.other()) => createSweeper(by).pass(true);
const factsOf = (bytes: Buffer) => ({
  sizeBytes: bytes.length,
  sha256: createHash('sha256').update(bytes).digest('hex'),
});

/** Returns the stored keys, except those in the trash. */
async function keys(): Promise<string[]> {
  const found: string[] = [];
  for await (const { key } of parts.bytes.list('')) if (!key.startsWith('trash/')) found.push(key);
  return found;
}

/** Creates a file with bytes, as a completed request leaves it. */
async function newFile(bytes = randomBytes(100)) {
  const [id, revision, blobId] = [newId(), newId(), newId()];
  await parts.bytes.put(blobKey(blobId), [bytes]);
  const file = await inWork(parts.store, (work) =>
    addVersion(
      parts,
      work,
      { id, ...place },
      {
        ...factsOf(bytes),
        revision,
        blobId,
        name: 'a.bin',
        contentType: 'application/octet-stream',
        actor,
      },
    ),
  );
  played.nodes.set(id, { revision, file: { contentType: '', sizeBytes: 0, status: 'processing' } });
  return { id, revision, blobId, file };
}

async function newUpload(fields: Partial<Upload> = {}): Promise<Upload> {
  const now = new Date().toISOString();
  const later = new Date(Date.now() + MINUTE).toISOString();
  const upload = {
    id: newId(),
    ...place,
    fileId: newId(),
    replaces: false,
    how: 'single',
    name: 'a.bin',
    blobId: newId(),
    attempts: 0,
    lookAt: later,
    expiresAt: later,
    actor,
    createdAt: now,
    ...fields,
  } as const;
  played.nodes.set(upload.fileId, { revision: upload.id, file: undefined });
  return inWork(parts.store, async (work) => {
    const { id: revision, fileId: id } = upload;
    const said = { saidType: 'x/y', saidBytes: 1, versions: 0, createdAt: now, updatedAt: now };
    work.insert(parts.files, { id, ...place, status: 'pending_upload', revision, ...said });
    return work.insert(parts.uploads, upload);
  });
}

describe('sweeper after a crash', () => {
  test('removes node and bytes of a crash before the record', async () => {
    const [fileId, revision, blobId] = [newId(), newId(), newId()];
    await beginAttempt(parts, { fileId, revision, blobId }, MINUTE);
    await parts.bytes.put(blobKey(blobId), [Buffer.from('half a story')]);
    played.nodes.set(fileId, { revision, file: { contentType: 'text/plain', sizeBytes: 12, status: 'ready' } });
    expect(await sweep()).toMatchObject({ settled: 1 });
    expect([await keys(), played.nodes.size, await parts.intents.count({ until: { gt: '' } })]).toEqual([[], 0, 0]);
  });

  test('leaves the attempt of a live process or an unexpired one alone', async () => {
    const about = { fileId: newId(), revision: newId(), blobId: newId() };
    await beginAttempt(parts, about, MINUTE);
    await parts.bytes.put(blobKey(about.blobId), [Buffer.from('x')]);
    expect(await sweep(parts)).toMatchObject({ settled: 0, orphans: 0 });
    const shared = { ...parts.bytes, exclusive: false };
    expect(await sweep(played.other({ bytes: shared }))).toMatchObject({ settled: 0, orphans: 0 });
    await beginAttempt(parts, { ...about, blobId: newId() }, -1);
    expect(await sweep(played.other({ bytes: shared }))).toMatchObject({ settled: 1 });
    expect(await keys()).toEqual([blobKey(about.blobId)]);
  });

  test('does not remove a node that a later attempt uses', async () => {
    const [fileId, later] = [newId(), newId()];
    await beginAttempt(parts, { fileId, revision: newId(), blobId: newId() }, MINUTE);
    played.nodes.set(fileId, { revision: later, file: undefined });
    await sweep();
    expect(played.nodes.get(fileId)?.revision).toBe(later);
  });

  test('reports a crash between record and tree to the tree', async () => {
    const { id, revision, blobId } = await newFile();
    await beginAttempt(parts, { fileId: id, revision, blobId }, MINUTE);
    await sweep();
    expect(played.nodes.get(id)).toEqual({
      revision,
      file: { contentType: 'application/octet-stream', sizeBytes: 100, status: 'ready' },
    });
    expect(await keys()).toEqual([blobKey(blobId)]);
  });

  test('removes the remains of a file whose node was purged', async () => {
    const { id, revision, blobId } = await newFile();
    await beginAttempt(parts, { fileId: id, revision, blobId }, MINUTE);
    played.nodes.delete(id);
    await sweep();
    expect([await parts.files.get(id), await keys()]).toEqual([undefined, []]);
  });

  test('creates the file from completed parts', async () => {
    const bytes = randomBytes(3000);
    const blobId = newId();
    const partsId = await parts.bytes.beginParts(blobKey(blobId));
    const upload = await newUpload({
      how: 'parts',
      blobId,
      partsId,
      partBytes: 2000,
      partCount: 2,
      ...factsOf(bytes),
    });
    await parts.bytes.putPart(blobKey(blobId), partsId, 1, [bytes.subarray(0, 2000)]);
    await parts.bytes.putPart(blobKey(blobId), partsId, 2, [bytes.subarray(2000)]);
    // Simulates a crash after the parts were assembled and before that was recorded.
    await beginAttempt(parts, { fileId: upload.fileId, revision: upload.id, blobId }, MINUTE);
    await parts.bytes.completeParts(blobKey(blobId), partsId);
    const next = played.other();
    await sweep(next);
    const left = (await parts.uploads.get(upload.id)) as Upload;
    expect(await missingParts(next, left)).toBe(0);
    await completeUpload(next, left);
    const file = await parts.files.get(upload.fileId);
    const version = await parts.versions.get(file?.versionId ?? '');
    expect([file?.status, version?.sha256]).toEqual(['ready', factsOf(bytes).sha256]);
    expect(played.nodes.get(upload.fileId)?.file?.status).toBe('ready');
  });

  test('removes only unknown bytes', async () => {
    const { blobId } = await newFile();
    await parts.bytes.put(thumbnailKey(blobId, 64), [Buffer.from('small')]);
    await parts.bytes.put(blobKey(parts.ids.create()), [Buffer.from('orphan')]);
    await parts.bytes.put(thumbnailKey(parts.ids.create(), 64), [Buffer.from('orphan')]);
    await parts.bytes.put('somebody/elses', [Buffer.from('other')]);
    await parts.bytes.beginParts(blobKey(parts.ids.create()));
    expect(await sweep()).toMatchObject({ orphans: 3 });
    expect((await keys()).sort()).toEqual([blobKey(blobId), thumbnailKey(blobId, 64), 'somebody/elses'].sort());
    expect(await sweep()).toMatchObject({ orphans: 0 });
  });
});

test('expires an unfinished upload with its bytes', async () => {
  const blobId = newId();
  const partsId = await parts.bytes.beginParts(blobKey(blobId));
  await parts.bytes.putPart(blobKey(blobId), partsId, 1, [Buffer.from('part')]);
  const expiresAt = new Date(Date.now() - 1).toISOString();
  const { fileId, id } = await newUpload({ how: 'parts', blobId, partsId, expiresAt });
  expect(await sweep()).toMatchObject({ expired: 1 });
  expect((await parts.files.get(fileId))?.status).toBe('expired');
  expect(played.nodes.get(fileId)?.file?.status).toBe('expired');
  expect([await parts.uploads.get(id), await parts.bytes.parts(blobKey(blobId), partsId)]).toEqual([undefined, []]);
});

test('copies by sharing bytes, once, and removes a copy without a node', async () => {
  const { id, blobId } = await newFile();
  const copyId = newId();
  const request = { fromResourceId: id, toResourceId: copyId, ...place };
  const copy = () =>
    inWork(parts.store, (work) => {
      const context = { work, actor } as unknown as CallContext;
      return createFileTextHandlers(parts).copyFile(request, context);
    });
  const made = await copy();
  expect(made).toMatchObject({ copied: true, sizeBytes: 100 });
  expect(await copy()).toEqual(made);
  await inWork(parts.store, async (work) => {
    const file = await parts.files.get(id);
    const version = { ...factsOf(randomBytes(7)), revision: newId(), blobId: newId(), name: 'b.bin' };
    await addVersion(parts, work, { ...place, ...file, id }, { ...version, contentType: 'text/plain', actor });
  });
  expect(await copy()).toEqual(made);
  expect((await parts.blobs.get(blobId))?.uses).toBe(2);
  expect(await parts.files.get(copyId)).toMatchObject({ status: 'ready', versionId: made.revision, versions: 1 });
  await sweep();
  expect([await parts.files.get(copyId), (await parts.blobs.get(blobId))?.uses]).toEqual([undefined, 1]);
  expect(await keys()).toEqual([blobKey(blobId)]);
});

test('returns the page of a place only for the current version and text', async () => {
  const { id } = await newFile();
  const other = await newFile();
  const text = 'Alpha one\n\nBeta two\n\nGamma two';
  await inWork(parts.store, async (work) => {
    const versionId = (await parts.files.get(id))?.versionId ?? '';
    work.insert(parts.texts, { id: versionId, tenant: place.tenant, text, pageStarts: [0, 11, 19, 21] });
  });
  const { locatePages } = createFileTextHandlers(parts);
  const asked = [
    [id, 0, 'Alpha'],
    [id, 11, 'Beta'],
    [id, 21, 'Gamma'],
    [id, 0, 'Gamma two'],
    [id, 0, 'Delta'],
    [id, 0, ''],
    [other.id, 0, 'Alpha'],
    [newId(), 0, 'Alpha'],
  ] as const;
  const places = asked.map(([resourceId, offset, words]) => ({ resourceId, offset, text: words }));
  const context = {} as CallContext;
  for (let again = 0; again < 2; again++) {
    expect((await locatePages({ places }, context)).pages).toEqual([1, 2, 4, 4, 0, 0, 0, 0]);
  }
});

test('deletes shared bytes with the last file', async () => {
  const { id, blobId } = await newFile();
  const copy = newId();
  await inWork(parts.store, async (work) => {
    const version = await parts.versions.find({ where: { fileId: id }, limit: 1 });
    const blob = await work.get(parts.blobs, blobId);
    if (blob === undefined || version[0] === undefined) throw new Error('there is no file');
    work.replace(parts.blobs, blob, { ...blob, uses: 2 });
    work.insert(parts.versions, { ...version[0], id: newId(), fileId: copy });
    work.increment(parts.usage, place.tenant, 'bytes', 100, {});
  });
  expect((await parts.usage.get(place.tenant))?.bytes).toBe(200);
  await purgeFile(parts, id);
  await deleteDeadBlobs(parts);
  expect(await keys()).toEqual([blobKey(blobId)]);
  await purgeFile(parts, copy);
  await deleteDeadBlobs(parts);
  expect([await keys(), (await parts.usage.get(place.tenant))?.bytes]).toEqual([[], 0]);
});

test('has an index for every query', async () => {
  const now = new Date().toISOString();
  const asked = [
    parts.intents.explain({ where: { until: { gt: '' } }, sort: ['until'], limit: 1 }),
    parts.intents.explain({ where: { blobId: 'x' }, limit: 1 }),
    parts.uploads.explain({ where: { fileId: 'x' }, limit: 1 }),
    parts.uploads.explain({ where: { blobId: 'x' }, limit: 1 }),
    parts.uploads.explain({ where: { lookAt: { lte: now } }, sort: ['lookAt'], limit: 1 }),
    parts.uploads.explain({ where: { expiresAt: { lte: now } }, sort: ['expiresAt'], limit: 1 }),
    parts.blobs.explain({ where: { deadAt: { gt: '' } }, sort: ['deadAt'], limit: 1 }),
    parts.versions.explain({ where: { fileId: 'x', number: { lte: 1 } }, sort: ['number'], limit: 1 }),
    parts.versions.explain({ where: { text: 'pending', createdAt: { lt: now } }, sort: ['createdAt'], limit: 1 }),
    parts.versions.explain({ where: { workspaceId: 'x', superseded: false }, sort: ['-sizeBytes'], limit: 1 }),
    parts.versions.explain({ where: { workspaceId: 'x', superseded: true }, limit: 1 }),
  ];
  for (const { indexed, plan } of await Promise.all(asked)) expect([plan, indexed]).toEqual([plan, true]);
});

test('handles other attempts, uploads and dead blobs when one attempt cannot be settled', async () => {
  const stuck = await newFile();
  const good = await newFile();
  const over = await newUpload({ expiresAt: new Date(Date.now() - MINUTE).toISOString() });
  for (const { id: fileId, revision } of [stuck, good]) {
    await beginAttempt(parts, { fileId, revision, blobId: newId() }, -MINUTE);
  }
  const told: string[] = [];
  const setFileState: SweeperParts['nodes']['setFileState'] = async (request, options) => {
    if (request.id === stuck.id) throw new Error('this never goes well');
    told.push(request.id);
    return parts.nodes.setFileState(request, options);
  };
  const swept = await sweep(played.other({ nodes: { ...parts.nodes, setFileState } }));
  expect(swept).toMatchObject({ settled: 1, expired: 1, failed: 1 });
  expect(told).toContain(good.id);
  expect(await parts.uploads.get(over.id)).toBeUndefined();
  expect((await parts.intents.find({ where: { until: { gt: '' } }, limit: 10 })).map(({ fileId }) => fileId)).toEqual([
    stuck.id,
  ]);
});

test('extracts other texts when some keep failing', async () => {
  const { file } = await newFile();
  const template = (await parts.versions.get(file.versionId as string)) as Version;
  const versions = Array.from({ length: 50 }, (_, i) => ({
    ...template,
    id: newId(),
    tenant: i < 45 ? 'crowded' : place.tenant,
    number: i + 2,
    text: 'pending' as const,
    createdAt: `2020-01-01T00:00:00.0${10 + i}Z`,
  }));
  await inWork(parts.store, async (work) => {
    for (const { version: _, ...one } of versions) work.insert(parts.versions, one);
  });
  const media = {
    extractText: async (tenant: string) => {
      if (tenant === 'crowded') throw new Error('too many files of this tenant wait');
      return { text: 'words' };
    },
  };
  const readPendingTexts = createPendingTexts(played.other({ media: media as never }));
  for (let pass = 0; pass < 3; pass++) await readPendingTexts(new Date().toISOString());
  const states = await Promise.all(versions.map(({ id }) => parts.versions.get(id)));
  expect(states.slice(45).map((one) => one?.text)).toEqual(Array(5).fill('done'));
  expect(states.slice(0, 45).map((one) => one?.text)).toEqual(Array(45).fill('pending'));
});
