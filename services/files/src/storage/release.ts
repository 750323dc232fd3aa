import { findPages, inWork, type UnitOfWork } from '@commonplace/kit/store';
import { blobKey, keysOfBlob } from '../domain/layout.js';
import { moveToTrash, ownsBytes } from './orphans.js';
import type { StorageParts, SweepParts } from './parts.js';
import { releaseBytes } from './quota.js';
import type { Blob, Version } from './records.js';

/** Deletes a version and its text. Marks its bytes as dead when no other version uses them. */
export async function releaseVersion(parts: StorageParts, work: UnitOfWork, version: Version): Promise<void> {
  work.remove(parts.versions, version);
  releaseBytes(parts, work, { tenant: version.tenant, account: 'files', bytes: version.sizeBytes });
  const text = await work.get(parts.texts, version.id);
  if (text !== undefined) work.remove(parts.texts, text);
  const blob = await work.get(parts.blobs, version.blobId);
  if (blob === undefined) return;
  const uses = blob.uses - 1;
  const dead = uses === 0 ? { deadAt: new Date().toISOString() } : {};
  work.replace(parts.blobs, blob, { ...blob, uses, ...dead });
}

/** Deletes bytes that nothing uses, what is derived from them, and then their record. */
async function deleteDeadBlob(parts: StorageParts, blob: Blob): Promise<void> {
  await deleteBytes(parts, blob.id);
  await inWork(parts.store, async (work) => {
    const present = await work.get(parts.blobs, blob.id);
    if (present !== undefined && present.uses === 0) work.remove(parts.blobs, present);
  });
}

/** Deletes bytes and what is derived from them. */
export async function deleteBytes(parts: Pick<StorageParts, 'bytes'>, blobId: string): Promise<void> {
  await Promise.all(keysOfBlob(blobId).map((key) => parts.bytes.delete(key)));
}

/** Moves bytes and what is derived from them into the store's trash. */
export async function trashBytes(parts: Pick<StorageParts, 'bytes'>, blobId: string): Promise<void> {
  for await (const { key } of parts.bytes.list(blobKey(blobId))) await moveToTrash(parts.bytes, key);
}

/** Deletes all bytes whose records mark them as dead. Returns the number of deleted blobs. */
export async function deleteDeadBlobs(parts: SweepParts): Promise<number> {
  let deleted = 0;
  for await (const dead of findPages(parts.blobs, { where: { deadAt: { gt: '' } }, sort: ['deadAt'] }, 100)) {
    if (!(await ownsBytes(parts))) break;
    for (const blob of dead) {
      try {
        await deleteDeadBlob(parts, blob);
        deleted++;
      } catch (error) {
        // The next pass retries this one; the others are deleted now.
        parts.log.warn('blob.not_deleted', { blob_id: blob.id, error });
      }
    }
  }
  return deleted;
}
