import { AppError } from '@commonplace/kit/errors';
import type { Failure } from '../stores/runs.js';

/** Thrown to end a run with an error that its readers see. */
export class RunFailure extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly retryable: boolean,
  ) {
    super(message);
    this.name = 'RunFailure';
  }

  get failure(): Failure {
    return { code: this.code, message: this.message, retryable: this.retryable };
  }
}

/** Returns the failure that a run ends with because of an error. */
export function failureOf(error: unknown): RunFailure {
  if (error instanceof RunFailure) return error;
  if (error instanceof AppError && error.code !== 'INTERNAL') return new RunFailure('tool_error', error.message, true);
  return new RunFailure('internal', 'Something went wrong on our side.', true);
}
