import { EXACT_TOTAL } from '../port.js';
import type { Scope } from './scope.js';

export interface Total {
  readonly total: number;
  readonly totalIsEstimate: boolean;
}

export function exactly(total: number): Total {
  return { total, totalIsEstimate: false };
}

/**
 * Returns the total for a count of matches in the order of rows that ended at `lastRow`: exact if it covered all rows,
 * otherwise extrapolated to the remaining rows and rounded to two digits.
 */
export function totalOf(scope: Scope, counted: { count: number; lastRow: number }): Total {
  if (counted.count <= EXACT_TOTAL) return exactly(counted.count);
  const share = scope.rows / (counted.lastRow - scope.firstRow + 1);
  const estimate = Number((counted.count * share).toPrecision(2));
  return { total: Math.max(estimate, counted.count), totalIsEstimate: true };
}
