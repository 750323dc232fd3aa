import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import { withinCall } from '@commonplace/kit/deadline';
import { AppError } from '@commonplace/kit/errors';
import type { S3Place } from './s3-url.js';

/** Milliseconds until there is a connection, and those that it may be silent. */
const CONNECT_MS = 5_000;
const SILENT_MS = 30_000;
/** The SDK is the one layer that tries again: all that is asked of a bucket may be asked twice. */
const TRIES = 3;

type Place = Pick<S3Place, 'endpoint' | 'region' | 'credentials'>;

/** A client whose requests are waited for no longer than their call; a bucket that is away is `dependency_unavailable`. */
export function openS3Client({ endpoint, region, credentials }: Place): S3Client {
  const config: S3ClientConfig = {
    endpoint,
    region,
    ...(credentials === undefined ? {} : { credentials }),
    forcePathStyle: true,
    maxAttempts: TRIES,
    requestHandler: { connectionTimeout: CONNECT_MS, socketTimeout: SILENT_MS },
    // Older servers refuse checksums that nobody asked for.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  };
  const client = new S3Client(config);
  client.middlewareStack.add(
    (next) => async (request) => {
      try {
        return await withinCall(next(request));
      } catch (error) {
        throw isAway(error) ? unavailable(error) : error;
      }
    },
    { name: 'boundedByCall', step: 'initialize' },
  );
  return client;
}

/** What did not come from the bucket, or is its own fault. */
function isAway(error: unknown): boolean {
  if (error instanceof AppError) return false;
  const { $metadata, code, name } = error as { $metadata?: { httpStatusCode?: number }; code?: string; name?: string };
  const status = $metadata?.httpStatusCode;
  if (status !== undefined) return status >= 500;
  return name === 'TimeoutError' || (code !== undefined && NETWORK.test(code));
}

const NETWORK = /^(ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|ERR_SOCKET)/;

function unavailable(cause: unknown): AppError {
  const message = 'The store of files does not answer. Try again shortly.';
  return new AppError('UNAVAILABLE', 'dependency_unavailable', message, { retryAfter: 1, cause });
}
