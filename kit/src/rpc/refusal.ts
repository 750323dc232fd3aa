import { AppError } from '../errors/index.js';
import { isGivenUp } from './given-up.js';
import type { CallOptions } from './port.js';

/** Why a call may not start: without a deadline, or given up already. */
export function refusalOf(options: CallOptions): AppError | undefined {
  if (!Number.isFinite(options.deadline)) {
    return new AppError('INVALID_ARGUMENT', 'deadline_missing', 'A call needs a deadline.');
  }
  return isGivenUp(options) ? cancelled() : undefined;
}

/** What a call that was given up rejects with. */
export function cancelled(): AppError {
  return new AppError('CANCELLED', 'timeout', 'The caller did not wait.');
}
