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
