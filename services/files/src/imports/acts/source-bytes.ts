import type { UnitOfWork } from '@commonplace/kit/store';
import { releaseBytes, reserveBytes } from '../../storage/quota.js';
import type { ImportParts } from '../parts.js';

/**
 * Adds a use of bytes for an import, so that they outlive the file that they belong to, and counts them against the
 * quota. Returns false when the bytes are gone.
 */
export async function useSource(
  parts: ImportParts,
  work: UnitOfWork,
  blobId: string,
  tenant: string,
): Promise<boolean> {
  const blob = await work.get(parts.blobs, blobId);
  if (blob === undefined || blob.uses === 0) return false;
  await reserveBytes(parts, work, { tenant, account: 'sources', bytes: blob.sizeBytes });
  work.replace(parts.blobs, blob, { ...blob, uses: blob.uses + 1 });
  return true;
}

/** Removes an import's use of its bytes and releases their quota. Marks them as dead when nothing else uses them. */
export async function releaseSource(
  parts: ImportParts,
  work: UnitOfWork,
  {
    tenant,
    heldBytes = 0,
    blobId,
  }: { readonly tenant: string; readonly blobId: string; readonly heldBytes?: number | undefined },
): Promise<void> {
  releaseBytes(parts, work, { tenant, account: 'sources', bytes: heldBytes });
  const blob = await work.get(parts.blobs, blobId);
  if (blob === undefined) return;
  const uses = blob.uses - 1;
  const dead = uses === 0 ? { deadAt: new Date().toISOString() } : {};
  work.replace(parts.blobs, blob, { ...blob, uses, ...dead });
}
