import { defineConflict } from '@commonplace/kit/errors';

/** Errors for too few credits; both answer HTTP 409. */
export const InsufficientCredits = defineConflict(
  'insufficient_credits',
  'This needs {needed} credits, and {available} are available.',
);
export const UsageCapReached = defineConflict(
  'usage_cap_reached',
  'This would exceed the limit of {limit} credits ({cap}): {taken} are used or reserved.',
);
