import type { UnitOfWork } from '@commonplace/kit/store';
import { settleBytes } from '../../storage/quota.js';
import type { Fault, Upload } from '../../storage/records.js';
import type { ImportUploads } from '../../uploads/parts.js';
import { finishedEvent } from '../events.js';
import type { ImportParts } from '../parts.js';

/** Hands uploads to the imports that wait for them. */
export function createImportUploads(
  parts: Pick<ImportParts, 'imports' | 'blobs' | 'settings' | 'usage'>,
): ImportUploads {
  return {
    /** Also queues the import. */
    async receive(work, { importId = '', tenant }, blobId, { sizeBytes, sha256 }, reserved) {
      const record = await work.get(parts.imports, importId);
      if (record?.status !== 'pending_upload') return false;
      await settleBytes(parts, work, { tenant, account: 'sources', bytes: sizeBytes }, reserved);
      const queuedAt = new Date().toISOString();
      work.insert(parts.blobs, { id: blobId, sizeBytes, sha256, uses: 1 });
      work.replace(parts.imports, record, {
        ...record,
        status: 'queued',
        blobId,
        heldBytes: sizeBytes,
        queuedAt,
        leaseUntil: queuedAt,
      });
      return true;
    },

    fail: (work, upload, fault) => failImport(parts, work, upload, fault),
  };
}

async function failImport(
  { imports }: Pick<ImportParts, 'imports'>,
  work: UnitOfWork,
  { importId = '' }: Upload,
  { code, message }: Fault,
): Promise<void> {
  const record = await work.get(imports, importId);
  if (record?.status !== 'pending_upload') return;
  const error = { code, message, retryable: false };
  const finishedAt = new Date().toISOString();
  const failed = work.replace(imports, record, { ...record, status: 'failed', error, finishedAt });
  work.publish(finishedEvent(failed));
}
