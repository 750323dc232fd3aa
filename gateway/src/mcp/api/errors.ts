import type { IncomingHttpHeaders } from 'node:http';
import { type AppError, asAppError } from '@commonplace/kit/errors';

/** The error in the body of an API answer. */
interface ApiError {
  readonly code: string;
  readonly message: string;
  readonly param: string | null;
  readonly details: unknown;
  readonly retryable: boolean;
}

/** Signals that the API answered an operation with an error. */
export class OperationFailed extends Error {
  constructor(
    readonly error: ApiError,
    readonly requestId: string,
    /** Seconds after which the client may send it again. */
    readonly retryAfter: number | undefined,
  ) {
    super(error.message);
  }
}

/** Parses the error of an unsuccessful response. */
export function failureOf(text: string, headers: IncomingHttpHeaders): OperationFailed {
  const { error, request_id: requestId } = JSON.parse(text) as { error: ApiError; request_id: string };
  const retryAfter = headers['retry-after'];
  return new OperationFailed(error, requestId, retryAfter === undefined ? undefined : Number(retryAfter));
}

/**
 * Converts an error that a tool threw to the form that clients get. An error found before the API was called gets the
 * id of the MCP request.
 */
export function asOperationFailed(thrown: unknown, requestId: string): OperationFailed {
  if (thrown instanceof OperationFailed) return thrown;
  return new OperationFailed(describeError(asAppError(thrown)), requestId, undefined);
}

function describeError({ reason: code, message, param, faults, details }: AppError): ApiError {
  return { code, message, param: param ?? null, details: faults.length > 0 ? faults : details, retryable: false };
}
