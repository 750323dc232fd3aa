import { inWork } from '@commonplace/kit/store';
import { unannouncedLimit } from '../domain/byte-limits.js';
import { blobKey, uploadKey } from '../domain/layout.js';
import { beginAttempt, endAttempt } from '../storage/attempt.js';
import type { Upload } from '../storage/records.js';
import { deleteBytes } from '../storage/release.js';
import { updateNode } from '../storage/update-node.js';
import { failUpload, finishUpload } from './finish.js';
import type { UploadParts } from './parts.js';
import { faultOfPut, TooManyBytes } from './wrong-bytes.js';

/** Milliseconds that assembling an upload may take. */
const COMPLETE_MS = 3_600_000;

/** Returns the number of parts that have not arrived; 0 when the upload can be assembled, or was before a crash. */
export async function missingParts(parts: UploadParts, upload: Upload): Promise<number> {
  if ((await parts.bytes.size(blobKey(upload.blobId))) !== undefined) return 0;
  if (upload.how === 'parts') return (await missingNumbers(parts, upload)).length;
  return (await parts.bytes.size(uploadKey(upload.id))) === undefined ? 1 : 0;
}

/** Returns the numbers of the parts that have not arrived with the expected size. */
export async function missingNumbers(parts: UploadParts, upload: Upload): Promise<number[]> {
  const { partCount = 0, partBytes = 0, sizeBytes = 0, partsId = '', blobId } = upload;
  const landed = new Map((await parts.bytes.parts(blobKey(blobId), partsId)).map((one) => [one.number, one.sizeBytes]));
  const sizeOf = (number: number) => Math.min(partBytes, sizeBytes - (number - 1) * partBytes);
  const numbers = Array.from({ length: partCount }, (_, i) => i + 1);
  return numbers.filter((number) => landed.get(number) !== sizeOf(number));
}

/** Assembles an upload whose bytes have all arrived, and makes it a version. The caller holds its lease. */
export async function completeUpload(parts: UploadParts, upload: Upload): Promise<void> {
  const { fileId, id: revision, blobId } = upload;
  const intent = await beginAttempt(parts, { fileId, revision, blobId }, COMPLETE_MS);
  try {
    await sayProcessing(parts, upload);
    await requireFits(parts, upload);
    const stored = await putTogether(parts, upload);
    await finishUpload(parts, upload, blobId, stored, intent);
  } catch (error) {
    // Assembled bytes stay: a retry finds them through the upload's record.
    const fault = faultOfPut(error);
    if (fault !== undefined) {
      await failUpload(parts, upload, fault);
      // Deletes assembled bytes that are wrong or exceed the quota.
      await deleteBytes(parts, blobId);
    }
    await endAttempt(parts, intent);
    if (fault === undefined) throw error;
  }
}

/** Refuses the bytes of an upload without an announced size, which a bucket takes unseen. Throws `TooManyBytes`. */
async function requireFits({ bytes, settings }: UploadParts, { id, sizeBytes, importId }: Upload): Promise<void> {
  if (sizeBytes !== undefined) return;
  const limit = unannouncedLimit(settings, importId !== undefined);
  if (((await bytes.size(uploadKey(id))) ?? 0) > limit.bytes) throw new TooManyBytes(limit);
}

function putTogether(parts: UploadParts, { how, id, blobId, partsId = '', sizeBytes, sha256 }: Upload) {
  const expected = { sizeBytes, sha256 };
  return how === 'parts'
    ? parts.bytes.completeParts(blobKey(blobId), partsId, expected)
    : parts.bytes.move(uploadKey(id), blobKey(blobId), expected);
}

async function sayProcessing(parts: UploadParts, { fileId, replaces }: Upload): Promise<void> {
  if (replaces) return;
  const file = await inWork(parts.store, async (work) => {
    const before = await work.get(parts.files, fileId);
    if (before?.status !== 'pending_upload') return undefined;
    return work.replace(parts.files, before, { ...before, status: 'processing', updatedAt: new Date().toISOString() });
  });
  if (file !== undefined) await updateNode(parts, file);
}
