import { defineError } from '@commonplace/kit/errors';

export const RunNotCancelable = defineError(
  'ABORTED',
  'run_not_cancelable',
  'The run has ended: its status is {status}.',
);
export const RunNotRetryable = defineError('ABORTED', 'run_not_retryable', 'The run cannot be repeated: {why}.');
