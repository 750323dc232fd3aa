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
        throw storeError(error);
      }
    },
    { name: 'boundedByCall', step: 'initialize' },
  );
  return client;
}

/**
 * Converts an error of a request, or of reading the body of its answer: a full or unavailable bucket is reported as an
 * AppError, and any other error returned as it is.
 */
export function storeError(error: unknown): unknown {
  if (error instanceof AppError) return error;
  if (isFull(error)) return StorageFull({ cause: error });
  return isAway(error) ? unavailable(error) : error;
}

/** Error names by which S3-compatible servers report that the disk or a quota is full. */
const FULL = /^(XMinio)?(StorageFull|AdminBucketQuotaExceeded|QuotaExceeded|InsufficientStorage|ServiceQuotaExceeded)/;
const INSUFFICIENT_STORAGE = 507;

interface Failure {
  readonly $metadata?: { readonly httpStatusCode?: number };
  readonly name?: string;
  readonly code?: string;
}

function isFull(error: unknown): boolean {
  const { $metadata, name } = error as Failure;
  return $metadata?.httpStatusCode === INSUFFICIENT_STORAGE || FULL.test(name ?? '');
}

/** Statuses of a bucket that refuses the credentials, as after a rotation, or has too many requests. */
const REFUSES_ALL: ReadonlySet<number> = new Set([401, 403, 429]);
/** Error names that mean the same without such a status: of expired or missing credentials, and of a missing bucket. */
const NONE_SERVED = /^(ExpiredToken|TokenRefreshRequired|InvalidToken|CredentialsProviderError|NoSuchBucket)/;
const NETWORK = /^(ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|ERR_SOCKET|ERR_STREAM_PREMATURE)/;

/**
 * Checks whether the bucket serves no request at present: a network failure, an error of the server (status 500 or
 * above), or a refusal that is no fault of the request.
 */
function isAway(error: unknown): boolean {
  const { $metadata, code, name = '' } = error as Failure;
  const status = $metadata?.httpStatusCode;
  if (NONE_SERVED.test(name)) return true;
  if (status !== undefined && (status >= 500 || REFUSES_ALL.has(status))) return true;
  return name === 'TimeoutError' || (code !== undefined && NETWORK.test(code));
}

function unavailable(cause: unknown): AppError {
  const message = 'The file store is not available. Try again shortly.';
  return new AppError('UNAVAILABLE', 'dependency_unavailable', message, { retryAfter: 1, cause });
}
