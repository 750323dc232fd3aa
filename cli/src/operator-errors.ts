import { OperatorError } from '@commonplace/identity/key-admin';
import { CommandError, EXIT } from './exit.js';

/** Converts the refusal of an operator's request to the error of a command; other errors stay as they are. */
export function commandError(error: unknown): unknown {
  if (!(error instanceof OperatorError)) return error;
  return new CommandError(error.isMissing ? EXIT.missing : EXIT.failed, error.message);
}
