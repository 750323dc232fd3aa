import type { UnitOfWork } from '@commonplace/kit/store';
import type { FinishWriteResponse } from '@commonplace/proto/files/v1/bytes_service.js';
import { FileStatus } from '@commonplace/proto/files/v1/file.js';
import { measureAll } from '../blobs/measure.js';
import { BlobMissing, type StoredBytes } from '../blobs/port.js';
import { UPLOAD_URL_SECONDS } from '../config.js';
import { blobKey, partAt } from '../domain/layout.js';
import type { Receipt, Upload } from '../storage/records.js';
import { STATUSES } from '../storage/wire.js';
import type { UploadParts } from './parts.js';

/** Stores the receipt of an upload in the unit of work that completes it. */
export function putReceipt(
  { receipts }: UploadParts,
  work: UnitOfWork,
  { id, fileId: resourceId, how, partBytes, partCount }: Upload,
  blobId: string,
  { sizeBytes, sha256 }: StoredBytes,
): void {
  if (how === 'fetch') return;
  const expiresAt = new Date(Date.now() + UPLOAD_URL_SECONDS * 1000).toISOString();
  work.insert(receipts, { id, resourceId, blobId, sizeBytes, sha256, partBytes, partCount, expiresAt });
}

/** Returns how many bytes a completed upload, or one part of it, has received; undefined if there is no such part. */
export function receivedBytes(receipt: Receipt, part: number | undefined): number | undefined {
  return part === undefined ? receipt.sizeBytes : placeOf(receipt, part)?.sizeBytes;
}

function placeOf({ sizeBytes, partBytes = 0, partCount = 0 }: Receipt, part: number) {
  return partAt(sizeBytes, { partBytes, partCount }, part);
}

/** Returns the answer to bytes that were put again; undefined if they are not those that were received. */
export async function answerAgain(
  parts: UploadParts,
  receipt: Receipt,
  part: number | undefined,
  stored: StoredBytes,
): Promise<FinishWriteResponse | undefined> {
  if (stored.sha256 !== (await receivedSum(parts, receipt, part))) return undefined;
  const { resourceId } = receipt;
  const file = await parts.files.get(resourceId);
  return { resourceId, status: file === undefined ? FileStatus.READY : STATUSES[file.status], partsMissing: 0 };
}

/** Returns the SHA-256 of the bytes of an upload or one part of it; undefined if they are gone. */
async function receivedSum({ bytes }: UploadParts, receipt: Receipt, part: number | undefined) {
  if (part === undefined) return receipt.sha256;
  const place = placeOf(receipt, part);
  if (place === undefined) return undefined;
  try {
    const range = { offset: place.offset, length: place.sizeBytes };
    return (await measureAll(bytes.read(blobKey(receipt.blobId), range))).sha256;
  } catch (error) {
    if (error instanceof BlobMissing) return undefined;
    throw error;
  }
}
