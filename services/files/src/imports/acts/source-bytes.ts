import type { UnitOfWork } from '@commonplace/kit/store';
import type { Parts } from '../../parts.js';

/** Keeps bytes for an import: they stay, whatever becomes of the file that they are. */
export async function useSource(parts: Parts, work: UnitOfWork, blobId: string): Promise<boolean> {
  const blob = await work.get(parts.blobs, blobId);
  if (blob === undefined || blob.uses === 0) return false;
  work.replace(parts.blobs, blob, { ...blob, uses: blob.uses + 1 });
  return true;
}

/** Lets go of the bytes of an import; they are dead when nobody else uses them. */
export async function releaseSource(parts: Parts, work: UnitOfWork, blobId: string): Promise<void> {
  const blob = await work.get(parts.blobs, blobId);
  if (blob === undefined) return;
  const uses = blob.uses - 1;
  const dead = uses === 0 ? { deadAt: new Date().toISOString() } : {};
  work.replace(parts.blobs, blob, { ...blob, uses, ...dead });
}
