import type { AppError } from '@commonplace/kit/errors';
import { newId } from '@commonplace/kit/id';
import { inWork } from '@commonplace/kit/store';
import { ImportSourceType } from '@commonplace/proto/files/v1/import.js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { blobKey, uploadKey } from '../src/domain/layout.js';
import { readImportRequest } from '../src/imports/import-request.js';
import type { Upload } from '../src/storage/records.js';
import { completeUpload } from '../src/uploads/complete.js';
import { readFileRequest } from '../src/uploads/file-request.js';
import { createUploadHandlers } from '../src/uploads/handlers/uploads.js';
import { openParts, type TestParts } from './parts.js';

const LIMIT = 1000;
const SETTING = 'COMMONPLACE_SINGLE_UPLOAD_BYTES';

let played: TestParts;
let uploads: ReturnType<typeof createUploadHandlers>;
beforeAll(async () => {
  played = await openParts();
  uploads = createUploadHandlers(played.other({ settings: { ...played.parts.settings, singleUploadBytes: LIMIT } }));
});
afterAll(async () => {
  await uploads.close();
  await played.close();
});

/** Returns a token for an upload in one request. */
async function begin(announced: { sizeBytes?: number }): Promise<string> {
  const { id } = await store(announced);
  return played.parts.tokens.sign({ kind: 'put', uploadId: id, expires: Date.now() / 1000 + 60 });
}

/** Stores an upload in one request. */
async function store(announced: { sizeBytes?: number }): Promise<Upload> {
  const now = new Date().toISOString();
  const record: Omit<Upload, 'version'> = {
    id: newId(),
    tenant: newId(),
    workspaceId: newId(),
    fileId: newId(),
    replaces: false,
    how: 'single',
    name: 'a.bin',
    blobId: newId(),
    attempts: 0,
    lookAt: now,
    expiresAt: '2999-01-01T00:00:00.000Z',
    actor: { type: 'user', id: newId(), name: 'A' },
    createdAt: now,
    ...announced,
  };
  played.nodes.set(record.fileId, { revision: record.id, file: undefined });
  return inWork(played.parts.store, async (work) => work.insert(played.parts.uploads, record));
}

test.each([
  ['than the limit, naming the setting', {}, LIMIT, { limit: LIMIT, setting: SETTING }],
  ['than announced, naming the announced size', { sizeBytes: 500 }, 500, { limit: 500 }],
])('refuses more bytes %s, by header and by body', async (_, announced, limit, details) => {
  const refusal = { reason: 'payload_too_large', details };
  const byHeader = uploads.beginWrite({ token: await begin(announced), contentLength: limit + 1 }, {} as never);
  await expect(byHeader).rejects.toMatchObject(refusal);
  const { writer } = await uploads.beginWrite({ token: await begin(announced), contentLength: undefined }, {} as never);
  const write = uploads.writeBytes({ writer, offset: 0, data: Buffer.alloc(limit + 1) }, {} as never);
  const refused = await write.catch((error: AppError) => [error.reason, error.details]);
  expect(refused).toEqual(['payload_too_large', details]);
});

describe('a file has at most COMMONPLACE_FILE_BYTES, however it comes:', () => {
  const FILE_BYTES = 500;
  const limited = () => ({ ...played.parts.settings, fileBytes: FILE_BYTES, singleUploadBytes: LIMIT });
  const details = { limit: FILE_BYTES, setting: 'COMMONPLACE_FILE_BYTES' };
  const refusal = { reason: 'payload_too_large', details };
  const guard = { check: (url: string) => new URL(url) };
  const inline = (bytes: number) => ({ contentBase64: Buffer.alloc(bytes).toString('base64') });

  test('in a request', async () => {
    const ask = (bytes: number) => readFileRequest({ name: 'a', ...inline(bytes) } as never, limited(), guard);
    await expect(ask(FILE_BYTES)).resolves.toMatchObject({ name: 'a' });
    await expect(ask(FILE_BYTES + 1)).rejects.toMatchObject(refusal);
  });

  test('in a request to import it', async () => {
    const ask = (bytes: number) =>
      readImportRequest(
        { sourceType: ImportSourceType.MARKDOWN_ZIP, selection: [], ...inline(bytes) } as never,
        limited(),
        guard,
      );
    await expect(ask(FILE_BYTES)).resolves.toMatchObject({ sourceType: 'markdown_zip' });
    await expect(ask(FILE_BYTES + 1)).rejects.toMatchObject(refusal);
  });

  test('as an upload without an announced size', async () => {
    const handlers = createUploadHandlers(played.other({ settings: limited() }));
    const write = async (length: number) =>
      handlers.beginWrite({ token: await begin({}), contentLength: length }, {} as never);
    await expect(write(FILE_BYTES)).resolves.toMatchObject({ writer: expect.any(String) });
    await expect(write(FILE_BYTES + 1)).rejects.toMatchObject(refusal);
    await handlers.close();
  });

  test('as an upload to a bucket without an announced size', async () => {
    const parts = played.other({ settings: limited() });
    const upload = await store({});
    const at = new Date().toISOString();
    const file = {
      id: upload.fileId,
      tenant: upload.tenant,
      workspaceId: upload.workspaceId,
      status: 'pending_upload',
    };
    await inWork(parts.store, async (work) =>
      work.insert(parts.files, { ...file, name: 'a.bin', createdAt: at, updatedAt: at } as never),
    );
    await parts.bytes.put(uploadKey(upload.id), [Buffer.alloc(FILE_BYTES + 1)] as never, {});
    await completeUpload(parts, upload);
    expect(await parts.files.get(upload.fileId)).toMatchObject({
      status: 'failed',
      error: { code: 'payload_too_large', message: `A file may have at most ${FILE_BYTES} bytes.` },
    });
    expect(await parts.bytes.size(blobKey(upload.blobId))).toBeUndefined();
  });
});
