import { buffer } from 'node:stream/consumers';
import { inWork, type UnitOfWork } from '@commonplace/kit/store';
import type { StoredBytes } from '../blobs/port.js';
import { blobKey } from '../domain/layout.js';
import { fileEvent } from '../events.js';
import { kindOf, SNIFF_BYTES } from '../media/index.js';
import { addVersion } from '../storage/add-version.js';
import { endAttempt, leaveAttempt } from '../storage/attempt.js';
import type { Fault, FileRecord, Intent, Upload } from '../storage/records.js';
import { deleteBytes } from '../storage/release.js';
import { updateNode } from '../storage/update-node.js';
import { readTextSoon } from '../texts/read-text.js';
import type { UploadParts } from './parts.js';
import { dropBytes, removeUpload } from './purge.js';
import { putReceipt } from './receipts.js';

/**
 * Makes uploaded bytes a version of their file and updates its node in the tree. Returns undefined when the upload was
 * abandoned meanwhile.
 */
export async function finishUpload(
  parts: UploadParts,
  upload: Upload,
  blobId: string,
  stored: StoredBytes,
  intent: Intent,
): Promise<FileRecord | undefined> {
  if (upload.importId !== undefined) return finishForImport(parts, upload, blobId, stored, intent);
  const kind = await lookAt(parts, blobId, upload);
  const file = await inWork(parts.store, async (work) => {
    const open = await work.get(parts.uploads, upload.id);
    const before = await work.get(parts.files, upload.fileId);
    if (open === undefined || before === undefined) return undefined;
    work.remove(parts.uploads, open);
    putReceipt(parts, work, open, blobId, stored);
    const reserved = (open.reserved?.bytes ?? 0) + (await useReservation(parts, work, intent));
    const { name, actor } = upload;
    return addVersion(parts, work, before, { ...stored, ...kind, revision: upload.id, blobId, name, actor }, reserved);
  });
  if (file === undefined) {
    // The upload was abandoned meanwhile, or another worker has finished it and its version uses these bytes.
    if ((await parts.blobs.get(blobId)) === undefined) await deleteBytes(parts, blobId);
  } else {
    readTextSoon(parts, upload.id);
    try {
      await dropBytes(parts, upload);
      await updateNode(parts, file, { bytesChanged: true, actor: upload.actor });
    } catch (error) {
      // The file is complete; the sweeper updates its node later.
      parts.log.warn('file.not_told', { resource_id: file.id, error });
      await leaveAttempt(parts, intent);
      return file;
    }
  }
  await endAttempt(parts, intent);
  return file;
}

/** Hands the bytes to the import that waits for them. No file is created. */
async function finishForImport(
  parts: UploadParts,
  upload: Upload,
  blobId: string,
  stored: StoredBytes,
  intent: Intent,
): Promise<undefined> {
  const landed = await inWork(parts.store, async (work) => {
    const open = await work.get(parts.uploads, upload.id);
    if (open === undefined) return false;
    const reserved = (open.reserved?.bytes ?? 0) + (await useReservation(parts, work, intent));
    if (!(await parts.importUploads.receive(work, open, blobId, stored, reserved))) return false;
    work.remove(parts.uploads, open);
    putReceipt(parts, work, open, blobId, stored);
    return true;
  });
  if (landed) await dropBytes(parts, upload);
  else if ((await parts.blobs.get(blobId)) === undefined) await deleteBytes(parts, blobId);
  await endAttempt(parts, intent);
  return undefined;
}

/** Transfers an attempt's reservation to the unit of work that counts the bytes. Returns the number of bytes. */
async function useReservation(parts: UploadParts, work: UnitOfWork, { id }: Intent): Promise<number> {
  const intent = await work.get(parts.intents, id);
  if (intent?.reserved === undefined) return 0;
  work.replace(parts.intents, intent, { ...intent, reserved: undefined });
  return intent.reserved.bytes;
}

/** Detects the content type of stored bytes, and the dimensions of an image, from the bytes themselves. */
async function lookAt(parts: UploadParts, blobId: string, { name, saidType }: Pick<Upload, 'name' | 'saidType'>) {
  const start = await buffer(parts.bytes.read(blobKey(blobId), { offset: 0, length: SNIFF_BYTES }));
  return kindOf(start, name, saidType);
}

/** Marks an upload as failed: deletes its bytes and stores the error in the file's record. */
export async function failUpload(parts: UploadParts, upload: Upload, error: Fault): Promise<void> {
  const file = await inWork(parts.store, async (work) => {
    const open = await work.get(parts.uploads, upload.id);
    const before = await work.get(parts.files, upload.fileId);
    if (open === undefined) return undefined;
    removeUpload(parts, work, open);
    if (upload.importId !== undefined) await parts.importUploads.fail(work, upload, error);
    if (before === undefined) return undefined;
    const { id, workspaceId, tenant } = before;
    work.publish(fileEvent('failed', { resourceId: id, workspaceId, revision: upload.id, tenant, code: error.code }));
    const status = before.versionId === undefined ? ('failed' as const) : before.status;
    return work.replace(parts.files, before, { ...before, status, error, updatedAt: new Date().toISOString() });
  });
  await dropBytes(parts, upload);
  if (file !== undefined) await updateNode(parts, file);
}
