import { AppError } from '@commonplace/kit/errors';

const PASSING: ReadonlySet<string> = new Set(['UNAVAILABLE', 'DEADLINE_EXCEEDED', 'INTERNAL', 'CANCELLED']);

/** Returns whether a call to another service was refused for good. */
export function isRefusal(error: unknown): error is AppError {
  return error instanceof AppError && !PASSING.has(error.code);
}
