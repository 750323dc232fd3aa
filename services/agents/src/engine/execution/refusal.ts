import { AppError, isPassing } from '@commonplace/kit/errors';

/** Codes that say nothing about the call, in addition to those that pass. */
const FAULTS: ReadonlySet<AppError['code']> = new Set(['INTERNAL', 'CANCELLED']);

/** Returns whether another service has refused a call for good. */
export function isRefusal(error: unknown): error is AppError {
  return error instanceof AppError && !isPassing(error) && !FAULTS.has(error.code);
}
