import type { UnitOfWork } from '@commonplace/kit/store';
import type { Stored } from '../../blobs/port.js';
import type { Parts } from '../../parts.js';
import type { Fault, Upload } from '../../stores/records.js';
import { finishedEvent } from '../events.js';

/** Gives an import the bytes that it has waited for; false where it waits no more. */
export async function landForImport(
  parts: Parts,
  work: UnitOfWork,
  { importId = '' }: Upload,
  blobId: string,
  { sizeBytes, sha256 }: Stored,
): Promise<boolean> {
  const record = await work.get(parts.imports, importId);
  if (record?.status !== 'pending_upload') return false;
  const queuedAt = new Date().toISOString();
  work.insert(parts.blobs, { id: blobId, sizeBytes, sha256, uses: 1 });
  work.replace(parts.imports, record, { ...record, status: 'queued', blobId, queuedAt, leaseUntil: queuedAt });
  return true;
}

/** Ends an import whose upload failed, or did not come in time. */
export async function failForUpload(
  parts: Parts,
  work: UnitOfWork,
  { importId = '' }: Upload,
  { code, message }: Fault,
): Promise<void> {
  const record = await work.get(parts.imports, importId);
  if (record?.status !== 'pending_upload') return;
  const error = { code, message, retryable: false };
  const finishedAt = new Date().toISOString();
  const failed = work.replace(parts.imports, record, { ...record, status: 'failed', error, finishedAt });
  work.publish(finishedEvent(failed));
}
