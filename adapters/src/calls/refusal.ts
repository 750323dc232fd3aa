import { cancelled, isCancelled } from '@commonplace/kit/deadline';
import { AppError } from '@commonplace/kit/errors';
import type { CallOptions } from '@commonplace/kit/rpc';

/**
 * Returns the error for a call that must not start, because it has no deadline or was already cancelled; otherwise
 * undefined.
 */
export function refusalOf(options: CallOptions): AppError | undefined {
  if (!Number.isFinite(options.deadline)) {
    return new AppError('INVALID_ARGUMENT', 'deadline_missing', 'A call needs a deadline.');
  }
  return isCancelled(options) ? cancelled() : undefined;
}
