import type { AppError } from '@commonplace/kit/errors';
import { newId } from '@commonplace/kit/id';
import { inWork } from '@commonplace/kit/store';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Upload } from '../src/storage/records.js';
import { createUploadHandlers } from '../src/uploads/handlers/uploads.js';
import { openParts, type TestParts } from './parts.js';

const LIMIT = 1000;
const SETTING = 'COMMONPLACE_SINGLE_UPLOAD_BYTES';

let played: TestParts;
let uploads: ReturnType<typeof createUploadHandlers>;
beforeAll(async () => {
  played = await openParts();
  uploads = createUploadHandlers(played.other({ settings: { ...played.parts.settings, singleBytes: LIMIT } }));
});
afterAll(async () => {
  await uploads.close();
  await played.close();
});

/** Stores an upload in one request, and returns its token. */
async function begin(announced: { sizeBytes?: number }): Promise<string> {
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
  await inWork(played.parts.store, async (work) => work.insert(played.parts.uploads, record));
  played.nodes.set(record.fileId, { revision: record.id, file: undefined });
  return played.parts.tokens.sign({ kind: 'put', uploadId: record.id, expires: Date.now() / 1000 + 60 });
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
