import { inWork } from '@commonplace/kit/store';
import { beginAttempt, endAttempt } from '../acts/attempt.js';
import { failUpload, faultOf, finishUpload } from '../acts/finish.js';
import { tell } from '../acts/tell.js';
import { WrongBytes } from '../blobs/port.js';
import { blobKey, uploadKey } from '../domain/layout.js';
import type { Parts } from '../parts.js';
import { lease } from '../stores/lease.js';
import type { Upload } from '../stores/records.js';

/** The longest that putting an upload together may take. */
const COMPLETE_MS = 3_600_000;

/** Parts of an upload that have not landed; 0 when it can be put together, or was before a crash. */
export async function missingParts(parts: Parts, upload: Upload): Promise<number> {
  if ((await parts.bytes.size(blobKey(upload.blobId))) !== undefined) return 0;
  if (upload.how === 'parts') return (await missingNumbers(parts, upload)).length;
  return (await parts.bytes.size(uploadKey(upload.id))) === undefined ? 1 : 0;
}

/** Which parts have not landed with the size that they should have. */
export async function missingNumbers(parts: Parts, upload: Upload): Promise<number[]> {
  const { partCount = 0, partBytes = 0, sizeBytes = 0, partsId = '', blobId } = upload;
  const landed = new Map((await parts.bytes.parts(blobKey(blobId), partsId)).map((one) => [one.number, one.sizeBytes]));
  const sizeOf = (number: number) => Math.min(partBytes, sizeBytes - (number - 1) * partBytes);
  const numbers = Array.from({ length: partCount }, (_, i) => i + 1);
  return numbers.filter((number) => landed.get(number) !== sizeOf(number));
}

/** Puts an upload together of which all has landed, and makes it a version. One worker at a time does it. */
export async function completeUpload(parts: Parts, found: Upload): Promise<void> {
  const held = await lease(parts, found);
  if (held === undefined) return;
  try {
    await complete(parts, held.upload);
  } finally {
    held.end();
  }
}

async function complete(parts: Parts, upload: Upload): Promise<void> {
  const { fileId, id: revision, blobId } = upload;
  const intent = await beginAttempt(parts, { fileId, revision, blobId }, COMPLETE_MS);
  try {
    await sayProcessing(parts, upload);
    const stored = await putTogether(parts, upload);
    await finishUpload(parts, upload, blobId, stored, intent);
  } catch (error) {
    // What is put together already is known by its upload, which goes on with it.
    if (error instanceof WrongBytes) await failUpload(parts, upload, faultOf(error));
    await endAttempt(parts, intent);
    if (!(error instanceof WrongBytes)) throw error;
  }
}

function putTogether(parts: Parts, { how, id, blobId, partsId = '', sizeBytes, sha256 }: Upload) {
  const expected = { sizeBytes, sha256 };
  return how === 'parts'
    ? parts.bytes.completeParts(blobKey(blobId), partsId, expected)
    : parts.bytes.move(uploadKey(id), blobKey(blobId), expected);
}

async function sayProcessing(parts: Parts, { fileId, replaces }: Upload): Promise<void> {
  if (replaces) return;
  const file = await inWork(parts.store, async (work) => {
    const before = await work.get(parts.files, fileId);
    if (before?.status !== 'pending_upload') return undefined;
    return work.replace(parts.files, before, { ...before, status: 'processing', updatedAt: new Date().toISOString() });
  });
  if (file !== undefined) await tell(parts, file);
}
