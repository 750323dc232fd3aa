import { JetStreamApiError } from '@nats-io/jetstream';
import { AppError, Internal, Timeout, Unavailable } from '../../errors/index.js';

/** Errors of the client that mean: no answer, or nobody there. The others are faults of ours. */
const AWAY = new Set([
  'TimeoutError',
  'NoRespondersError',
  'ClosedConnectionError',
  'DrainingConnectionError',
  'ConnectionError',
  'RequestError',
  'AuthorizationError',
  'UserAuthenticationExpiredError',
  'JetStreamError',
  'JetStreamStatusError',
  'JetStreamNotEnabled',
]);

/** How the client says that no stream takes a subject. */
const NOBODY = new Set(['NoRespondersError', 'JetStreamNotEnabled', 'JetStreamError']);

/** What leaves the adapter: never an error of the client. */
export function toKitError(error: unknown): AppError {
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

/** Gives undefined where a stream, consumer or message is not there. */
export async function ifThere<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Whether nobody keeps what is published: the stream is gone. */
export function isUnkept(error: unknown): boolean {
  return isNotFound(error) || (error instanceof Error && NOBODY.has(error.name));
}

function isNotFound(error: unknown): boolean {
  return error instanceof JetStreamApiError && error.status === 404;
}
