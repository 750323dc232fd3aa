import { AppError, defineConflict, defineError, defineNotFound } from '@commonplace/kit/errors';
import type { AnyByteLimit } from './domain/byte-limits.js';

export const FileNotReady = defineConflict('file_not_ready', 'The file has no bytes yet: its status is {status}.');
export const UploadIncomplete = defineConflict(
  'upload_incomplete',
  '{received_bytes} bytes were received, but {expected_bytes} were announced.',
);
export const ChecksumMismatch = defineConflict('checksum_mismatch', 'The bytes have the SHA-256 {received}.');
export const StorageQuotaExceeded = defineConflict(
  'storage_quota_exceeded',
  'The files would exceed the storage quota of {quota_bytes} bytes.',
);
export const UploadInterrupted = defineError(
  'UNAVAILABLE',
  'service_unavailable',
  'The upload was interrupted. Upload the bytes again.',
);
export const ExpiredLink = defineNotFound('expired_link', 'This URL has expired. Request a new one.');

/**
 * Creates an error for bytes that exceed a limit. `setting` names the setting of the limit; without it, the client has
 * announced the size.
 */
export function tooLarge(param: string | undefined, { bytes: limit, setting }: AnyByteLimit): AppError {
  const isInline = setting === 'COMMONPLACE_INLINE_FILE_BYTES';
  const message = isInline
    ? `A request may contain at most ${limit} bytes of a file: use a signed upload for a larger one.`
    : `A file may have at most ${limit} bytes.`;
  const details = { limit, ...(setting === undefined ? {} : { setting }) };
  return new AppError('INVALID_ARGUMENT', 'payload_too_large', message, {
    details,
    ...(param === undefined ? {} : { param }),
  });
}
