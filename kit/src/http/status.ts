import type { AppError, Code } from '../errors/index.js';

interface HttpError {
  readonly status: number;
  readonly type: string;
}

/** Maps canonical codes to HTTP. Clients see 400, 401, 403, 404, 409, 429, 500 and 503. */
const TABLE: Record<Code, HttpError> = {
  INVALID_ARGUMENT: { status: 400, type: 'invalid_request' },
  FAILED_PRECONDITION: { status: 400, type: 'invalid_request' },
  UNAUTHENTICATED: { status: 401, type: 'authentication' },
  PERMISSION_DENIED: { status: 403, type: 'permission' },
  NOT_FOUND: { status: 404, type: 'not_found' },
  ALREADY_EXISTS: { status: 409, type: 'conflict' },
  ABORTED: { status: 409, type: 'conflict' },
  RESOURCE_EXHAUSTED: { status: 429, type: 'rate_limit' },
  UNAVAILABLE: { status: 503, type: 'server' },
  DEADLINE_EXCEEDED: { status: 503, type: 'server' },
  CANCELLED: { status: 503, type: 'server' },
  INTERNAL: { status: 500, type: 'server' },
};

export function httpError(error: AppError): HttpError {
  return TABLE[error.code];
}

/** Returns whether the same request may succeed later. */
export function isRetryable(error: AppError): boolean {
  const { status } = TABLE[error.code];
  return status === 429 || status === 503 || error.retryAfter !== undefined;
}
