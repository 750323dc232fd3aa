import { type AppError, asAppError } from '@commonplace/kit/errors';
import type { ApiResponse } from './in-process.js';

/** An error of the API as its body has it. */
export interface ApiError {
  readonly code: string;
  readonly message: string;
  readonly param: string | null;
  readonly details: unknown;
  readonly retryable: boolean;
}

/** An operation that the API answered with an error. */
export class OperationFailed extends Error {
  constructor(
    readonly error: ApiError,
    readonly requestId: string,
    /** Seconds after which it may be sent again. */
    readonly retryAfter: number | undefined,
  ) {
    super(error.message);
  }
}

/** Returns the error of a response that is not a success. */
export function failureOf({ text, headers }: ApiResponse): OperationFailed {
  const { error, request_id: requestId } = JSON.parse(text) as { error: ApiError; request_id: string };
  const retryAfter = headers['retry-after'];
  return new OperationFailed(error, requestId, retryAfter === undefined ? undefined : Number(retryAfter));
}

/**
 * Returns an error that a tool threw as the client is told it: that of the API, or one that was found before the API was
 * asked, with the id of the MCP request.
 */
export function asOperationFailed(thrown: unknown, requestId: string): OperationFailed {
  if (thrown instanceof OperationFailed) return thrown;
  return new OperationFailed(describeError(asAppError(thrown)), requestId, undefined);
}

function describeError({ reason: code, message, param, faults, details }: AppError): ApiError {
  return { code, message, param: param ?? null, details: faults.length > 0 ? faults : details, retryable: false };
}
