import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import { withinCall } from '@commonplace/kit/deadline';
import { AppError, StorageFull } from '@commonplace/kit/errors';
import type { S3Place } from './s3-url.js';

/** Milliseconds that connecting may take, and that a connection may be silent. */
const CONNECT_TIMEOUT_MS = 5_000;
const SOCKET_TIMEOUT_MS = 30_000;
/** Attempts per request. The SDK is the only layer that retries; every request to a bucket is safe to repeat. */
const MAX_ATTEMPTS = 3;

type Place = Pick<S3Place, 'endpoint' | 'region' | 'credentials'>;

/**
 * Creates a client whose requests end with the deadline of their call. An unreachable bucket is reported as
 * `dependency_unavailable`.
 */
export function openS3Client({ endpoint, region, credentials }: Place): S3Client {
  const config: S3ClientConfig = {
    endpoint,
    region,
    ...(credentials === undefined ? {} : { credentials }),
    forcePathStyle: true,
    maxAttempts: MAX_ATTEMPTS,
    requestHandler: { connectionTimeout: CONNECT_TIMEOUT_MS, socketTimeout: SOCKET_TIMEOUT_MS },
    // Older servers reject checksums that the protocol does not require.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  };
  const client = new S3Client(config);
  client.middlewareStack.add(
    (next) => async (request) => {
      try {
        return await withinCall(next(request));
      } catch (error) {
        if (isFull(error)) throw StorageFull({ cause: error });
        throw isAway(error) ? unavailable(error) : error;
      }
    },
    { name: 'boundedByCall', step: 'initialize' },
  );
  return client;
}

/** Error names by which S3-compatible servers report that the disk or a quota is full. */
const FULL = /^(XMinio)?(StorageFull|AdminBucketQuotaExceeded|QuotaExceeded|InsufficientStorage|ServiceQuotaExceeded)/;
const INSUFFICIENT_STORAGE = 507;

function isFull(error: unknown): boolean {
  if (error instanceof AppError) return false;
  const { $metadata, name } = error as { $metadata?: { httpStatusCode?: number }; name?: string };
  return $metadata?.httpStatusCode === INSUFFICIENT_STORAGE || FULL.test(name ?? '');
}

/** Checks whether an error is a network failure or an error of the server (status 500 or above). */
function isAway(error: unknown): boolean {
  if (error instanceof AppError) return false;
  const { $metadata, code, name } = error as { $metadata?: { httpStatusCode?: number }; code?: string; name?: string };
  const status = $metadata?.httpStatusCode;
  if (status !== undefined) return status >= 500;
  return name === 'TimeoutError' || (code !== undefined && NETWORK.test(code));
}

const NETWORK = /^(ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|ERR_SOCKET)/;

function unavailable(cause: unknown): AppError {
  const message = 'The file store does not answer. Try again shortly.';
  return new AppError('UNAVAILABLE', 'dependency_unavailable', message, { retryAfter: 1, cause });
}
