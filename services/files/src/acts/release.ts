import type { UnitOfWork } from '@commonplace/kit/store';
import { inWork } from '@commonplace/kit/store';
import { blobKey } from '../domain/layout.js';
import type { Parts } from '../parts.js';
import type { Blob, Version } from '../stores/records.js';

/** Takes a version away with its text; its bytes are dead when nobody else uses them. */
export async function releaseVersion(parts: Parts, work: UnitOfWork, version: Version): Promise<void> {
  work.remove(parts.versions, version);
  work.increment(parts.usage, version.tenant, 'bytes', -version.sizeBytes, {});
  const text = await work.get(parts.texts, version.id);
  if (text !== undefined) work.remove(parts.texts, text);
  const blob = await work.get(parts.blobs, version.blobId);
  if (blob === undefined) return;
  const uses = blob.uses - 1;
  const dead = uses === 0 ? { deadAt: new Date().toISOString() } : {};
  work.replace(parts.blobs, blob, { ...blob, uses, ...dead });
}

/** Deletes bytes that nobody uses, what is derived from them, and then their record. */
export async function deleteDeadBlob(parts: Parts, blob: Blob): Promise<void> {
  await deleteBytes(parts, blob.id);
  await inWork(parts.store, async (work) => {
    const present = await work.get(parts.blobs, blob.id);
    if (present !== undefined && present.uses === 0) work.remove(parts.blobs, present);
  });
}

/** Deletes bytes and what is derived from them. */
export async function deleteBytes(parts: Parts, blobId: string): Promise<void> {
  for await (const { key } of parts.bytes.list(blobKey(blobId))) await parts.bytes.delete(key);
}

/** Deletes all bytes that nobody uses. */
export async function deleteDeadBlobs(parts: Parts): Promise<number> {
  let deleted = 0;
  for (;;) {
    const dead = await parts.blobs.find({ where: { deadAt: { gt: '' } }, sort: ['deadAt'], limit: 100 });
    for (const blob of dead) await deleteDeadBlob(parts, blob);
    deleted += dead.length;
    if (dead.length < 100) return deleted;
  }
}
