import { createHash, randomBytes } from 'node:crypto';
import { CALLER_TOKEN_SECONDS } from '@commonplace/kit/auth';
import { AppError } from '@commonplace/kit/errors';
import { newId } from '@commonplace/kit/id';
import { inWork } from '@commonplace/kit/store';
import { holdJob } from '@commonplace/kit/testing';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { unzipSync } from 'fflate';
import { runExport } from '../src/archives/export.js';
import type { ArchiveParts } from '../src/archives/parts.js';
import {
  type ArchiveRecord,
  archiveCollection,
  archiveKey,
  archiveQueue,
  stepCollection,
} from '../src/archives/records.js';
import { blobKey } from '../src/domain/layout.js';
import { openParts, type TestParts } from './parts.js';

/** These tests check that a worker that dies at the end of an export leaves nothing that its successor could damage. */

const RESOURCES = 5;
const DATA_BYTES = 3 * 1024 * 1024;

let played: TestParts;
let parts: ArchiveParts;

beforeEach(async () => {
  played = await openParts();
  parts = {
    ...played.parts,
    archives: await played.parts.store.collection(archiveCollection),
    archiveSteps: await played.parts.store.collection(stepCollection),
    treeExports: { describeTree, readTree } as never,
    auth: { actAs: async () => ({ token: 't', expiresAt: new Date(Date.now() + 1e6).toISOString() }) } as never,
  };
});
afterEach(() => played.close());

const describeTree = async () => ({
  resourceCount: RESOURCES,
  tagsJson: Buffer.from('{}'),
  publicationJson: Buffer.from('null'),
});

const data = Array.from({ length: RESOURCES }, () => randomBytes(DATA_BYTES));

async function* readTree({ after }: { readonly after: string }) {
  for (let i = 0; i < RESOURCES; i++) {
    if (`r${i}` <= after) continue;
    yield { path: `r${i}.bin`, fileId: '', data: data[i] as Buffer, end: true, done: '', last: false };
    yield { path: '', fileId: '', data: Buffer.alloc(0), end: false, done: `r${i}`, last: i === RESOURCES - 1 };
  }
}

function newExport(): Promise<ArchiveRecord> {
  const now = new Date().toISOString();
  const none = { attempt: 0, total: 0, resources: 0, files: 0, failed: 0, faults: [], cursor: '' };
  return inWork(parts.store, async (work) =>
    work.insert(parts.archives, {
      ...none,
      ...{ steps: 0, parts: 0, offset: 0, entries: 0, format: 'native' as const, status: 'running' as const },
      id: newId(),
      tenant: newId(),
      workspaceId: newId(),
      userId: newId(),
      orgId: '',
      include: { files: true, comments: true, snapshots: true, permissions: true },
      workspace: {},
      createdBy: { type: 'user', id: newId(), name: 'P' },
      createdAt: now,
      leaseUntil: now,
    }),
  );
}

/** Runs an export in a worker, with blob operations that may fail. */
async function work(id: string, bytes: Partial<ArchiveParts['bytes']> = {}): Promise<void> {
  const record = (await parts.archives.get(id)) as ArchiveRecord;
  const own = { ...parts, bytes: { ...parts.bytes, ...bytes } };
  const hold = await holdJob(parts.store, archiveQueue, record);
  await runExport(own, hold);
}

async function expectWhole(id: string): Promise<void> {
  const record = await parts.archives.get(id);
  expect(record).toMatchObject({ status: 'completed', resources: RESOURCES, failed: 0 });
  const chunks: Buffer[] = [];
  for await (const chunk of parts.bytes.read(archiveKey(id))) chunks.push(chunk);
  const zip = Buffer.concat(chunks);
  expect(record).toMatchObject({ sizeBytes: zip.length, sha256: createHash('sha256').update(zip).digest('hex') });
  const entries = unzipSync(zip);
  for (let i = 0; i < RESOURCES; i++)
    expect(Buffer.from(entries[`r${i}.bin`] ?? []).equals(data[i] as Buffer)).toBe(true);
  expect(JSON.parse(Buffer.from(entries['manifest.json'] ?? []).toString()).counts.resources).toBe(RESOURCES);
  expect(await parts.archiveSteps.find({ where: { archiveId: id }, sort: ['number'], limit: 10 })).toEqual([]);
  const left: unknown[] = [];
  for await (const one of parts.bytes.unfinished('')) left.push(one);
  expect(left).toEqual([]);
}

const killed = () => {
  throw new Error('killed');
};

test('says at each read when the export was requested, for what was trashed since then', async () => {
  const { id, createdAt } = await newExport();
  const asked: unknown[] = [];
  const treeExports = {
    describeTree,
    readTree(request: { after: string; since: string }) {
      asked.push(request.since);
      return readTree(request);
    },
  };
  parts = { ...parts, treeExports: treeExports as never };
  await work(id);
  expect(asked).toEqual([createdAt]);
});

test('keeps an export whose worker died after completing its parts', async () => {
  const { id } = await newExport();
  const completed = async (...about: Parameters<ArchiveParts['bytes']['completeParts']>) => {
    await parts.bytes.completeParts(...about);
    return killed();
  };
  await expect(work(id, { completeParts: completed })).rejects.toThrow('killed');
  expect(await parts.archives.get(id)).toMatchObject({ status: 'running' });
  await work(id);
  await expectWhole(id);
});

test('completes an export whose worker died before completing its parts', async () => {
  const { id } = await newExport();
  await expect(work(id, { completeParts: killed })).rejects.toThrow('killed');
  await work(id);
  await expectWhole(id);
});

test('reads the tree anew before the caller token of a read expires', async () => {
  const { id } = await newExport();
  let later = 0;
  const clocks = [Date, performance].map((clock) => {
    const now = clock.now.bind(clock);
    return jest.spyOn(clock, 'now').mockImplementation(() => now() + later);
  });
  parts = {
    ...parts,
    auth: { actAs: async () => ({ token: String(Date.now()), expiresAt: '' }) } as never,
    treeExports: {
      describeTree,
      async *readTree(request: { after: string }, { metadata }: { metadata: { token: string } }) {
        for await (const piece of readTree(request)) {
          const age = Date.now() - Number(metadata.token);
          if (age >= CALLER_TOKEN_SECONDS * 1000)
            throw new AppError('UNAUTHENTICATED', 'invalid_credentials', 'Expired.');
          yield piece;
          // So long takes it to write a large file.
          if (piece.path !== '') later += 20_000;
        }
      },
    } as never,
  };
  try {
    await work(id);
  } finally {
    for (const clock of clocks) clock.mockRestore();
  }
  await expectWhole(id);
});

test('writes an export again when an earlier version did not record its archive', async () => {
  const { id } = await newExport();
  const completed = async (...about: Parameters<ArchiveParts['bytes']['completeParts']>) => {
    await parts.bytes.completeParts(...about);
    return killed();
  };
  await expect(work(id, { completeParts: completed })).rejects.toThrow('killed');
  await inWork(parts.store, async (unit) => {
    const record = (await unit.get(parts.archives, id)) as ArchiveRecord;
    unit.replace(parts.archives, record, { ...record, wholeBytes: undefined });
  });
  await work(id);
  await expectWhole(id);
});

test('writes an export again when some of its parts are lost before completion', async () => {
  const { id } = await newExport();
  await expect(work(id, { completeParts: killed })).rejects.toThrow('killed');
  const { upload = '' } = (await parts.archives.get(id)) as ArchiveRecord;
  await parts.bytes.abortParts(archiveKey(id), upload);
  await parts.bytes.putPart(archiveKey(id), upload, 1, [Buffer.from('something else')]);
  await expect(work(id)).rejects.toThrow('another size');
  await work(id);
  await expectWhole(id);
});

/** Makes a tree of one file whose bytes are stored. Returns the parts of an export of it, and the file's bytes. */
async function treeOfFile(): Promise<Buffer> {
  const bytes = randomBytes(100_000);
  const [fileId, versionId, blobId] = [newId(), newId(), newId()];
  await parts.bytes.put(blobKey(blobId), [bytes]);
  const about = { tenant: newId(), contentType: 'application/octet-stream', sizeBytes: bytes.length };
  await inWork(parts.store, async (unit) => {
    unit.insert(parts.files, { id: fileId, versionId, tenant: about.tenant } as never);
    unit.insert(parts.versions, { id: versionId, fileId, blobId, ...about } as never);
  });
  async function* readFile() {
    yield { path: 'file.bin', fileId, data: Buffer.alloc(0), end: true, done: '', last: false };
    yield { path: '', fileId: '', data: Buffer.alloc(0), end: false, done: fileId, last: true };
  }
  parts = { ...parts, treeExports: { describeTree, readTree: readFile } as never };
  return bytes;
}

/** Reads the first bytes of a blob and then fails. */
const breaking = (error: Error) =>
  async function* (key: string): AsyncIterable<Buffer> {
    for await (const chunk of parts.bytes.read(key)) {
      yield chunk.subarray(0, 1000);
      throw error;
    }
  };

test('continues an export later with the whole file when the store breaks off in the middle', async () => {
  const bytes = await treeOfFile();
  const { id } = await newExport();
  const away = new AppError('UNAVAILABLE', 'dependency_unavailable', 'The file store is not available.');
  await expect(work(id, { read: breaking(away) })).rejects.toBe(away);
  await work(id);
  const record = await parts.archives.get(id);
  expect(record).toMatchObject({ status: 'completed', files: 1, failed: 0, faults: [] });
  const chunks: Buffer[] = [];
  for await (const chunk of parts.bytes.read(archiveKey(id))) chunks.push(chunk);
  expect(Buffer.from(unzipSync(Buffer.concat(chunks))['file.bin'] ?? []).equals(bytes)).toBe(true);
});

test('lists a file that can never be read as a fault, and exports the rest', async () => {
  await treeOfFile();
  const { id } = await newExport();
  const read = breaking(new Error('the disk is damaged'));
  await work(id, { read: (key) => (key.startsWith('archives/') ? parts.bytes.read(key) : read(key)) });
  const record = await parts.archives.get(id);
  expect(record).toMatchObject({ status: 'completed_with_errors', faults: [{ code: 'file_unreadable' }] });
});
