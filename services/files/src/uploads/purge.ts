import { inWork, type UnitOfWork } from '@commonplace/kit/store';
import { blobKey, uploadKey } from '../domain/layout.js';
import { releaseBytes } from '../storage/quota.js';
import type { Upload } from '../storage/records.js';
import { releaseVersion } from '../storage/release.js';
import type { UploadParts } from './parts.js';

/** Maximum number of versions of a file that one transaction deletes. */
const CHUNK = 200;

/** Deletes a file whose node is gone, with its versions and pending uploads. */
export async function purgeFile(parts: UploadParts, fileId: string): Promise<void> {
  for (const upload of await uploadsOf(parts, fileId)) await dropUpload(parts, upload);
  for (let more = true; more; ) {
    more = await inWork(parts.store, async (work) => {
      const versions = await parts.versions.find({ where: { fileId }, sort: ['number'], limit: CHUNK });
      for (const version of versions) await releaseVersion(parts, work, version);
      const file = await work.get(parts.files, fileId);
      if (file !== undefined && versions.length < CHUNK) work.remove(parts.files, file);
      return versions.length === CHUNK;
    });
  }
}

export function uploadsOf(parts: UploadParts, fileId: string): Promise<Upload[]> {
  return parts.uploads.find({ where: { fileId }, limit: 100 });
}

/** Deletes an upload's record and the bytes that were uploaded for it. */
export async function dropUpload(parts: UploadParts, upload: Upload): Promise<void> {
  await inWork(parts.store, async (work) => {
    const present = await work.get(parts.uploads, upload.id);
    if (present !== undefined) removeUpload(parts, work, present);
  });
  await dropBytes(parts, upload);
}

/** Deletes the bytes that were uploaded for an upload whose record is gone. */
export async function dropBytes(parts: UploadParts, { id, how, partsId, blobId }: Upload): Promise<void> {
  if (how === 'parts' && partsId !== undefined) await parts.bytes.abortParts(blobKey(blobId), partsId);
  if (how === 'single' && !parts.bytes.exclusive) await parts.bytes.delete(uploadKey(id));
}

/** Deletes an upload's record in this unit of work and releases what is reserved for it. */
export function removeUpload(parts: Pick<UploadParts, 'uploads' | 'usage'>, work: UnitOfWork, upload: Upload): void {
  work.remove(parts.uploads, upload);
  if (upload.reserved !== undefined) releaseBytes(parts, work, upload.reserved);
}
