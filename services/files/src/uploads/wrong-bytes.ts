import type { AppError } from '@commonplace/kit/errors';
import { WrongBytes } from '../blobs/port.js';
import type { ByteLimit } from '../domain/byte-limits.js';
import { ChecksumMismatch, UploadIncomplete } from '../errors.js';
import { isOverQuota } from '../storage/quota.js';
import type { Fault } from '../storage/records.js';

/** Returns the error that answers a request whose bytes are not what was announced. */
export function refusalOf({ what, stored }: WrongBytes, expected: number | undefined): AppError {
  return what === 'size'
    ? UploadIncomplete({ received_bytes: stored.sizeBytes, expected_bytes: expected })
    : ChecksumMismatch({ received: stored.sha256 });
}

/** Returns the fault that a file reports when its bytes differ from what was announced. */
function faultOf({ what, stored }: WrongBytes): Fault {
  return what === 'size'
    ? { code: 'upload_incomplete', message: `The upload has ${stored.sizeBytes} bytes, not as many as announced.` }
    : { code: 'checksum_mismatch', message: `The bytes have the SHA-256 ${stored.sha256}.` };
}

/** Thrown for bytes in a bucket that are more than a file or the source of an import may have. */
export class TooManyBytes extends Error {
  constructor({ bytes }: ByteLimit) {
    super(`A file may have at most ${bytes} bytes.`);
    this.name = 'TooManyBytes';
  }
}

/** Returns why the bytes of an upload can't be kept, or undefined when a retry may succeed. */
export function faultOfPut(error: unknown): Fault | undefined {
  if (error instanceof WrongBytes) return faultOf(error);
  if (error instanceof TooManyBytes) return { code: 'payload_too_large', message: error.message };
  return isOverQuota(error) ? { code: 'storage_quota_exceeded', message: error.message } : undefined;
}
