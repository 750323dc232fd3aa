import type { UnitOfWork } from '@commonplace/kit/store';
import { releaseBytes, settleBytes } from '../storage/quota.js';
import type { ArchiveParts } from './parts.js';
import type { ArchiveRecord } from './records.js';

/** Counts the bytes of a finished archive in place of what was reserved for it. */
export async function settleArchive(
  parts: ArchiveParts,
  work: UnitOfWork,
  { tenant, heldBytes }: ArchiveRecord,
  sizeBytes: number,
): Promise<void> {
  if (heldBytes === undefined) return;
  await settleBytes(parts, work, { tenant, account: 'archives', bytes: sizeBytes }, heldBytes);
}

/** Releases what is counted for an archive whose bytes are gone. */
export function releaseArchive(parts: ArchiveParts, work: UnitOfWork, { tenant, heldBytes = 0 }: ArchiveRecord): void {
  releaseBytes(parts, work, { tenant, account: 'archives', bytes: heldBytes });
}
