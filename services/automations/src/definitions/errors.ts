import { type AppError, defineConflict, defineError, defineInvalid, InsufficientScope } from '@commonplace/kit/errors';

export const SecretReentryRequired = defineConflict(
  'secret_reentry_required',
  'Another person has entered {names}, which the changes use: send the values again in secrets.',
);
export const AutomationInactive = defineConflict('automation_inactive', 'The automation is switched off.');
export const PayloadTooLarge = defineInvalid('payload_too_large', 'The body may have at most {limit} bytes.');
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
  return InsufficientScope({ scope }, { param, message });
}
