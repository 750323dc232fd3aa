import type { Condition } from './port.js';

/** The times that lists can be limited by. */
export interface TimeFilters {
  readonly createdAfter?: string | undefined;
  readonly createdBefore?: string | undefined;
  readonly updatedAfter?: string | undefined;
  readonly updatedBefore?: string | undefined;
}

/** The times of a record; what has none meets no condition on it. */
interface Times {
  readonly createdAt?: string | undefined;
  readonly updatedAt?: string | undefined;
}

/** Returns the conditions for records that were created and changed after and before some times, these excluded. */
export function timesWithin(filters: TimeFilters): { readonly createdAt?: Condition; readonly updatedAt?: Condition } {
  const createdAt = timeBetween(filters.createdAfter, filters.createdBefore);
  const updatedAt = timeBetween(filters.updatedAfter, filters.updatedBefore);
  return { ...(createdAt && { createdAt }), ...(updatedAt && { updatedAt }) };
}

/** Returns the condition for a time between two others, these excluded; undefined if neither is given. */
export function timeBetween(after: string | undefined, before: string | undefined): Condition | undefined {
  if (after === undefined && before === undefined) return undefined;
  return { ...(after !== undefined && { gt: after }), ...(before !== undefined && { lt: before }) };
}

/** Returns whether a record meets the conditions of `timesWithin`. */
export function isWithinTimes({ createdAt, updatedAt }: Times, filters: TimeFilters): boolean {
  const { createdAfter, createdBefore, updatedAfter, updatedBefore } = filters;
  return isBetween(createdAt, createdAfter, createdBefore) && isBetween(updatedAt, updatedAfter, updatedBefore);
}

function isBetween(time: string | undefined, after: string | undefined, before: string | undefined): boolean {
  if (time === undefined) return after === undefined && before === undefined;
  return (after === undefined || time > after) && (before === undefined || time < before);
}
