import { AppError } from '@commonplace/kit/errors';

const PASSING: ReadonlySet<string> = new Set(['UNAVAILABLE', 'DEADLINE_EXCEEDED', 'INTERNAL', 'CANCELLED']);

/** Returns whether another service has refused a call for good. */
export function isRefusal(error: unknown): error is AppError {
  return error instanceof AppError && !PASSING.has(error.code);
}
