import type { UnitOfWork } from '@commonplace/kit/store';
import { releaseBytes, settleBytes } from '../storage/quota.js';
import type { ArchiveParts } from './parts.js';
import type { ArchiveRecord } from './records.js';

/** Replaces the reservation of a finished archive by its actual bytes. */
export async function settleArchive(
  parts: ArchiveParts,
  work: UnitOfWork,
  { tenant, heldBytes }: ArchiveRecord,
  sizeBytes: number,
): Promise<void> {
  if (heldBytes === undefined) return;
  await settleBytes(parts, work, { tenant, account: 'archives', bytes: sizeBytes }, heldBytes);
}

/** Releases the counted bytes of an archive whose bytes are deleted. */
export function releaseArchive(parts: ArchiveParts, work: UnitOfWork, { tenant, heldBytes = 0 }: ArchiveRecord): void {
  releaseBytes(parts, work, { tenant, account: 'archives', bytes: heldBytes });
}
