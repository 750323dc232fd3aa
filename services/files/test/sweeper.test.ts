import { createHash, randomBytes } from 'node:crypto';
import { newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import { inWork } from '@commonplace/kit/store';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { addVersion } from '../src/acts/add-version.js';
import { beginAttempt } from '../src/acts/attempt.js';
import { purgeFile } from '../src/acts/purge.js';
import { deleteDeadBlobs } from '../src/acts/release.js';
import { blobKey, thumbnailKey } from '../src/domain/layout.js';
import { createFileTextHandlers } from '../src/handlers/file-texts.js';
import { completeUpload, missingParts } from '../src/jobs/complete.js';
import { createSweeper } from '../src/jobs/sweeper.js';
import type { Parts } from '../src/parts.js';
import type { Upload } from '../src/stores/records.js';
import { openParts, type Played } from './parts.js';

const actor = { type: 'user', id: newId(), name: 'P' } as const;
const place = { tenant: newId(), workspaceId: newId() };
const MINUTE = 60_000;

let played: Played;
let parts: Parts;

beforeEach(async () => {
  played = await openParts();
  parts = played.parts;
});
afterEach(() => played.close());

const sweep = (by: Parts = played.other()) => createSweeper(by).pass(true);
const factsOf = (bytes: Buffer) => ({
  sizeBytes: bytes.length,
  sha256: createHash('sha256').update(bytes).digest('hex'),
});

async function keys(): Promise<string[]> {
  const found: string[] = [];
  for await (const { key } of parts.bytes.list('')) found.push(key);
  return found;
}

/** A file with bytes, as a request that came to its end has left it. */
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

describe('what a crash leaves', () => {
  test('between the bytes and the record is taken away, node and bytes', async () => {
    const [fileId, revision, blobId] = [newId(), newId(), newId()];
    await beginAttempt(parts, { fileId, revision, blobId }, MINUTE);
    await parts.bytes.put(blobKey(blobId), [Buffer.from('half a story')]);
    played.nodes.set(fileId, { revision, file: { contentType: 'text/plain', sizeBytes: 12, status: 'ready' } });
    expect(await sweep()).toMatchObject({ settled: 1 });
    expect([await keys(), played.nodes.size, await parts.intents.count({ until: { gt: '' } })]).toEqual([[], 0, 0]);
  });

  test('is left alone while its own process is at it, or the time of another is not over', async () => {
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

  test('takes no node away that a later attempt has made its own', async () => {
    const [fileId, later] = [newId(), newId()];
    await beginAttempt(parts, { fileId, revision: newId(), blobId: newId() }, MINUTE);
    played.nodes.set(fileId, { revision: later, file: undefined });
    await sweep();
    expect(played.nodes.get(fileId)?.revision).toBe(later);
  });

  test('between the record and the tree is told to the tree', async () => {
    const { id, revision, blobId } = await newFile();
    await beginAttempt(parts, { fileId: id, revision, blobId }, MINUTE);
    await sweep();
    expect(played.nodes.get(id)).toEqual({
      revision,
      file: { contentType: 'application/octet-stream', sizeBytes: 100, status: 'ready' },
    });
    expect(await keys()).toEqual([blobKey(blobId)]);
  });

  test('of a file whose node was purged meanwhile goes', async () => {
    const { id, revision, blobId } = await newFile();
    await beginAttempt(parts, { fileId: id, revision, blobId }, MINUTE);
    played.nodes.delete(id);
    await sweep();
    expect([await parts.files.get(id), await keys()]).toEqual([undefined, []]);
  });

  test('of parts that were put together is a file when it is done once more', async () => {
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
    // The crash comes when all is put together and nothing is written down of it.
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

  test('of bytes that nobody knows goes, and nothing else', async () => {
    const { blobId } = await newFile();
    await parts.bytes.put(thumbnailKey(blobId, 64), [Buffer.from('small')]);
    await parts.bytes.put(blobKey(newId()), [Buffer.from('orphan')]);
    await parts.bytes.put(thumbnailKey(newId(), 64), [Buffer.from('orphan')]);
    await parts.bytes.put('somebody/elses', [Buffer.from('other')]);
    await parts.bytes.beginParts(blobKey(newId()));
    expect(await sweep()).toMatchObject({ orphans: 3 });
    expect((await keys()).sort()).toEqual([blobKey(blobId), thumbnailKey(blobId, 64), 'somebody/elses'].sort());
    expect(await sweep()).toMatchObject({ orphans: 0 });
  });
});

test('an upload that nobody finishes expires, with what was put of it', async () => {
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

test('a copy shares the bytes, is made once, and goes again when nobody makes a node for it', async () => {
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
  expect((await parts.blobs.get(blobId))?.uses).toBe(2);
  expect(await parts.files.get(copyId)).toMatchObject({ status: 'ready', versionId: made.revision, versions: 1 });
  await sweep();
  expect([await parts.files.get(copyId), (await parts.blobs.get(blobId))?.uses]).toEqual([undefined, 1]);
  expect(await keys()).toEqual([blobKey(blobId)]);
});

test('the page of a place is told of the version that is there, of the text that stands there', async () => {
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

test('bytes that two files share are deleted with the last of them', async () => {
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

test('every query has an index', async () => {
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
