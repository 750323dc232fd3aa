import { inWork } from '@commonplace/kit/store';
import type { Stored, WrongBytes } from '../blobs/port.js';
import { blobKey } from '../domain/layout.js';
import { fileEvent } from '../events.js';
import { failForUpload, landForImport } from '../imports/acts/landed.js';
import { readText } from '../jobs/read-text.js';
import { imageSize, SNIFF_BYTES, sniff } from '../media/index.js';
import type { Parts } from '../parts.js';
import type { Fault, FileRecord, Intent, Upload } from '../stores/records.js';
import { addVersion } from './add-version.js';
import { endAttempt, leaveAttempt } from './attempt.js';
import { dropBytes } from './purge.js';
import { deleteBytes } from './release.js';
import { tell } from './tell.js';

/** Makes what was put a version of its file, and tells the tree. Undefined where the upload was given up meanwhile. */
export async function finishUpload(
  parts: Parts,
  upload: Upload,
  blobId: string,
  stored: Stored,
  intent: Intent,
): Promise<FileRecord | undefined> {
  if (upload.importId !== undefined) return finishForImport(parts, upload, blobId, stored, intent);
  const kind = await lookAt(parts, blobId, upload);
  const file = await inWork(parts.store, async (work) => {
    const open = await work.get(parts.uploads, upload.id);
    const before = await work.get(parts.files, upload.fileId);
    if (open === undefined || before === undefined) return undefined;
    work.remove(parts.uploads, open);
    const { name, actor } = upload;
    return addVersion(parts, work, before, { ...stored, ...kind, revision: upload.id, blobId, name, actor });
  });
  if (file === undefined) {
    // Given up meanwhile; or done by another worker, whose bytes these are.
    if ((await parts.blobs.get(blobId)) === undefined) await deleteBytes(parts, blobId);
  } else {
    readTextSoon(parts, upload.id);
    try {
      await dropBytes(parts, upload);
      await tell(parts, file, { bytesChanged: true, actor: upload.actor });
    } catch (error) {
      // The file is whole, and its node hears of it as soon as it can.
      parts.log.warn('file.not_told', { resource_id: file.id, error });
      await leaveAttempt(parts, intent);
      return file;
    }
  }
  await endAttempt(parts, intent);
  return file;
}

/** Gives the bytes to the import that waits for them, which no file is made of. */
async function finishForImport(
  parts: Parts,
  upload: Upload,
  blobId: string,
  stored: Stored,
  intent: Intent,
): Promise<undefined> {
  const landed = await inWork(parts.store, async (work) => {
    const open = await work.get(parts.uploads, upload.id);
    if (open === undefined || !(await landForImport(parts, work, upload, blobId, stored))) return false;
    work.remove(parts.uploads, open);
    return true;
  });
  if (landed) await dropBytes(parts, upload);
  else if ((await parts.blobs.get(blobId)) === undefined) await deleteBytes(parts, blobId);
  await endAttempt(parts, intent);
  return undefined;
}

/** What bytes are, by themselves. */
async function lookAt(parts: Parts, blobId: string, { name, saidType }: Pick<Upload, 'name' | 'saidType'>) {
  const chunks: Buffer[] = [];
  const range = { offset: 0, length: SNIFF_BYTES };
  for await (const chunk of parts.bytes.read(blobKey(blobId), range)) chunks.push(chunk);
  return kindOf(Buffer.concat(chunks), name, saidType);
}

/** What bytes are that begin so. */
export async function kindOf(head: Buffer, name: string, saidType: string | undefined) {
  const contentType = await sniff(head.subarray(0, SNIFF_BYTES), name, saidType);
  return { contentType, ...(contentType.startsWith('image/') ? await imageSize(head) : {}) };
}

/** Marks an upload as failed: its file has no bytes by it, and says why. */
export async function failUpload(parts: Parts, upload: Upload, error: Fault): Promise<void> {
  const file = await inWork(parts.store, async (work) => {
    const open = await work.get(parts.uploads, upload.id);
    const before = await work.get(parts.files, upload.fileId);
    if (open === undefined) return undefined;
    work.remove(parts.uploads, open);
    if (upload.importId !== undefined) await failForUpload(parts, work, upload, error);
    if (before === undefined) return undefined;
    const { id, workspaceId, tenant } = before;
    work.publish(fileEvent('failed', { resourceId: id, workspaceId, revision: upload.id, tenant, code: error.code }));
    const status = before.versionId === undefined ? ('failed' as const) : before.status;
    return work.replace(parts.files, before, { ...before, status, error, updatedAt: new Date().toISOString() });
  });
  await dropBytes(parts, upload);
  if (file !== undefined) await tell(parts, file);
}

/** Bytes that are not what was announced, as a file says why it failed. */
export function faultOf({ what, stored }: WrongBytes): Fault {
  return what === 'size'
    ? { code: 'upload_incomplete', message: `There were ${stored.sizeBytes} bytes.` }
    : { code: 'checksum_mismatch', message: `The bytes have the SHA-256 ${stored.sha256}.` };
}

/** Reads the text of a version soon, where there is any. */
export function readTextSoon(parts: Parts, versionId: string): void {
  parts.background('text.failed', () => readText(parts, versionId));
}
