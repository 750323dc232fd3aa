import type { Condition } from '@commonplace/kit/store';

/** The times that lists can be limited by. */
export interface TimeFilters {
  readonly createdAfter?: string | undefined;
  readonly createdBefore?: string | undefined;
  readonly updatedAfter?: string | undefined;
  readonly updatedBefore?: string | undefined;
}

/** Returns the conditions for records that were created and changed after and before some times, these excluded. */
export function timesWithin(filters: TimeFilters): { readonly createdAt?: Condition; readonly updatedAt?: Condition } {
  const createdAt = between(filters.createdAfter, filters.createdBefore);
  const updatedAt = between(filters.updatedAfter, filters.updatedBefore);
  return { ...(createdAt && { createdAt }), ...(updatedAt && { updatedAt }) };
}

/** Returns the condition for a time between two others, these excluded; undefined if neither is given. */
export function between(after: string | undefined, before: string | undefined): Condition | undefined {
  if (after === undefined && before === undefined) return undefined;
  return { ...(after !== undefined && { gt: after }), ...(before !== undefined && { lt: before }) };
}
