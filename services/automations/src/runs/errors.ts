import { defineConflict } from '@commonplace/kit/errors';

export const RunNotCancelable = defineConflict('run_not_cancelable', 'The run has ended: its status is {status}.');
export const RunNotRetryable = defineConflict('run_not_retryable', 'The run cannot be repeated: {why}.');
