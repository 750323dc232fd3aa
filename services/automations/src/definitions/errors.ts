import { AppError, defineError } from '@commonplace/kit/errors';

export const NoUpdateField = defineError(
  'INVALID_ARGUMENT',
  'no_update_field',
  'The request contains no field to change.',
);
export const SecretReentryRequired = defineError(
  'ABORTED',
  'secret_reentry_required',
  'Another person has entered {names}, which the changes use: send the values again in secrets.',
);
export const AutomationInactive = defineError('ABORTED', 'automation_inactive', 'The automation is switched off.');
export const PayloadTooLarge = defineError(
  'INVALID_ARGUMENT',
  'payload_too_large',
  'The body may have at most {limit} bytes.',
);
export const InvalidSignature = defineError(
  'UNAUTHENTICATED',
  'invalid_signature',
  'The signature does not match: {why}',
);

/**
 * Returns the error for a credential that lacks a scope of the trigger or of an action, in addition to that of the
 * endpoint.
 */
export function insufficientScope(scope: string, param: string): AppError {
  const message = `${param} needs the scope ${scope}, which this credential does not have.`;
  return new AppError('PERMISSION_DENIED', 'insufficient_scope', message, { param, details: { scope } });
}
