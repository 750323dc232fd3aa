import type { AppError } from '@commonplace/kit/errors';

/** Reasons of refusals whose message is returned as it is. */
export const REPORTED_REASONS: ReadonlySet<string> = new Set([
  ...['agent_paused', 'model_not_configured', 'model_not_found', 'limit_reached', 'workspace_archived'],
  ...['insufficient_credits', 'usage_cap_reached'],
]);

/** Codes of errors that the same request would get again, and that are reported instead of thrown. */
export const PERMANENT_CODES: ReadonlySet<AppError['code']> = new Set([
  'NOT_FOUND',
  'PERMISSION_DENIED',
  'INVALID_ARGUMENT',
]);
