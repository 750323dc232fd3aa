import { AppError } from '@commonplace/kit/errors';

/** Returns the error that a request would be refused with; undefined for errors that the item did not cause. */
export function refusalIn(error: unknown): AppError | undefined {
  return error instanceof AppError && REFUSALS.has(error.code) ? error : undefined;
}

const REFUSALS: ReadonlySet<AppError['code']> = new Set([
  'INVALID_ARGUMENT',
  'FAILED_PRECONDITION',
  'PERMISSION_DENIED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'ABORTED',
]);
