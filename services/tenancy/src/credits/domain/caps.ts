import { type Micros, ofCredits } from './amounts.js';
import { type AccountState, availableOf } from './book.js';
import type { UsageTerms } from './settings.js';

type CapName = 'per_run' | 'per_member' | 'tenant';
export type CapState = 'ok' | 'warning' | 'reached' | 'overage';

/** A cap, and how much of it is used or reserved. */
export interface Cap {
  readonly name: CapName;
  readonly limit: Micros;
  readonly taken: Micros;
  /** Part of `taken` that other work has reserved and may release. */
  readonly reserved: Micros;
}

/**
 * Returns the first cap that an amount would exceed. Returns it with `reserved` 0 if the amount would exceed a cap even
 * after all reservations have ended, so that the caller does not wait for them.
 */
export function findReached(caps: readonly Cap[], amount: Micros): Cap | undefined {
  const reached = caps.filter(({ limit, taken }) => taken + amount > limit);
  const lasts = reached.some(({ limit, taken, reserved }) => taken - reserved + amount > limit);
  const [first] = reached;
  return first && lasts ? { ...first, reserved: 0 } : first;
}

/** Returns whether `amount` of overage is allowed. */
export function allowsOverage(terms: UsageTerms, { overage, reservedOverage }: AccountState, beyond: Micros): boolean {
  if (!terms.overageEnabled) return false;
  const { overageCapCredits: cap } = terms;
  return cap === undefined || overage + reservedOverage + beyond <= ofCredits(cap);
}

/** An alert that a threshold is reached or that there is overage. */
export interface Alert {
  readonly about: 'monthly_cap' | 'overage' | 'grants';
  readonly threshold: number;
  readonly used: Micros;
  readonly limit: Micros;
}

/** Returns the alerts that are due and were not announced this month. */
export function dueAlerts(account: AccountState, terms: UsageTerms): Alert[] {
  const { announced, used, overage } = account;
  const alerts: Alert[] = [];
  if (terms.monthlyCapCredits !== undefined) {
    const limit = ofCredits(terms.monthlyCapCredits);
    const threshold = reachedThreshold(terms, used, limit);
    if (threshold > announced.cap) alerts.push({ about: 'monthly_cap', threshold, used, limit });
  }
  const grants = spentOf(account);
  if (grants !== undefined) {
    const threshold = reachedThreshold(terms, grants.used, grants.limit);
    if (threshold > announced.grants) alerts.push({ about: 'grants', threshold, ...grants });
  }
  if (overage > 0 && !announced.overage) alerts.push({ about: 'overage', threshold: 0, used: overage, limit: 0 });
  return alerts;
}

/** Returns the record of alerts to store, so that each is sent only once a month. */
export function announcementOf(alerts: readonly Alert[]): Partial<AccountState['announced']> {
  const announced: { cap?: number; grants?: number; overage?: boolean } = {};
  for (const { about, threshold } of alerts) {
    if (about === 'monthly_cap') announced.cap = threshold;
    else if (about === 'grants') announced.grants = threshold;
    else announced.overage = true;
  }
  return announced;
}

/** Returns how much of the grants is used; undefined if there are none, or credits are unlimited. */
function spentOf({ metered, grants }: AccountState): Pick<Alert, 'used' | 'limit'> | undefined {
  const limit = sumOf(grants.map(({ amount }) => amount));
  if (!metered || limit === 0) return undefined;
  return { used: limit - sumOf(grants.map(({ remaining }) => remaining)), limit };
}

/** Summarizes how close the month's usage is to its cap, and to the end of the grants. */
export function capStateOf(account: AccountState, terms: UsageTerms): CapState {
  if (account.overage > 0) return 'overage';
  const { monthlyCapCredits } = terms;
  const limit = monthlyCapCredits === undefined ? undefined : ofCredits(monthlyCapCredits);
  if (limit !== undefined && account.used >= limit) return 'reached';
  if (account.metered && availableOf(account) <= 0) return 'reached';
  const warning = terms.alertThresholds.filter((threshold) => threshold < 100).at(-1);
  if (warning === undefined) return 'ok';
  const shares = [limit === undefined ? undefined : { used: account.used, limit }, spentOf(account)];
  return shares.some((share) => share !== undefined && share.used * 100 >= share.limit * warning) ? 'warning' : 'ok';
}

/** Returns the highest threshold that a share of a limit has reached; 0 if none. */
function reachedThreshold({ alertThresholds }: UsageTerms, used: Micros, limit: Micros): number {
  const percent = limit === 0 ? 100 : (used / limit) * 100;
  return alertThresholds.filter((threshold) => percent >= threshold).at(-1) ?? 0;
}

function sumOf(amounts: readonly Micros[]): Micros {
  return amounts.reduce((sum, one) => sum + one, 0);
}
