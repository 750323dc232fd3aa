import { cancelled, isGivenUp } from '../deadline/given-up.js';
import { AppError } from '../errors/index.js';
import type { CallOptions } from './port.js';

/**
 * Returns the error for a call that must not start, because it has no deadline or was already cancelled; otherwise
 * undefined.
 */
export function refusalOf(options: CallOptions): AppError | undefined {
  if (!Number.isFinite(options.deadline)) {
    return new AppError('INVALID_ARGUMENT', 'deadline_missing', 'A call needs a deadline.');
  }
  return isGivenUp(options) ? cancelled() : undefined;
}
