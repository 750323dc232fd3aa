import { type Fault, invalidFields } from '@commonplace/kit/errors';

/** Limits on usage. Amounts are whole credits; an absent one does not limit. */
export interface UsageTerms {
  readonly monthlyCapCredits?: number;
  readonly overageEnabled: boolean;
  readonly overageCapCredits?: number;
  readonly hardStop: boolean;
  /** Ascending. */
  readonly alertThresholds: readonly number[];
  readonly perMemberCapCredits?: number;
  readonly perRunCapCredits?: number;
}

const DEFAULTS: UsageTerms = { overageEnabled: false, hardStop: true, alertThresholds: [50, 80, 100] };

/** Returns all terms of a tenant, with the defaults for those that were never set. */
export function fullTerms(set: Partial<UsageTerms> = {}): UsageTerms {
  return { ...DEFAULTS, ...set };
}

/** Sorts alert thresholds. Throws if one is listed twice. */
export function readThresholds(given: readonly number[]): number[] {
  const faults: Fault[] = [];
  for (const [at, value] of given.entries()) {
    if (given.indexOf(value) === at) continue;
    faults.push({ param: `alert_thresholds[${at}]`, code: 'invalid_value', message: `${value} is listed twice.` });
  }
  if (faults.length > 0) throw invalidFields(faults);
  return [...given].sort((a, b) => a - b);
}
