import { ConfigError } from '@commonplace/kit/config';
import { AppError, Internal, Timeout, Unavailable } from '@commonplace/kit/errors';
import { JetStreamApiError } from '@nats-io/jetstream';

/** Names of client errors that mean that there was no answer or no server. All others are faults of this program. */
const AWAY = new Set([
  'TimeoutError',
  'NoRespondersError',
  'ClosedConnectionError',
  'DrainingConnectionError',
  'ConnectionError',
  'RequestError',
  'AuthorizationError',
  'UserAuthenticationExpiredError',
  'PermissionViolationError',
  'JetStreamError',
  'JetStreamStatusError',
  'JetStreamNotEnabled',
]);

/** Names of client errors that mean that no stream accepts a subject. */
const NO_STREAM = new Set(['NoRespondersError', 'JetStreamNotEnabled', 'JetStreamError']);

/** Converts an error to an AppError, so that no error of the client leaves the adapter. */
function toKitError(error: unknown): AppError {
  if (error instanceof ConfigError) return Unavailable({}, { cause: error });
  if (error instanceof AppError) return error;
  const options = { cause: error };
  if (error instanceof Error && error.name === 'TimeoutError') return Timeout({}, options);
  if (error instanceof JetStreamApiError) return Unavailable({}, options);
  if (error instanceof Error && AWAY.has(error.name)) return Unavailable({}, options);
  return Internal({}, options);
}

export async function calling<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toKitError(error);
  }
}

/** Returns undefined if a stream, consumer or message does not exist. */
export async function ifThere<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Returns whether a published event was not stored because the stream is missing. */
export function isUnkept(error: unknown): boolean {
  return isNotFound(error) || (error instanceof Error && NO_STREAM.has(error.name));
}

function isNotFound(error: unknown): boolean {
  return error instanceof JetStreamApiError && error.status === 404;
}
