import { compareCodeUnits } from '@commonplace/kit/words';
import type { Micros } from './amounts.js';
import { monthOf } from './periods.js';

export type GrantKind = 'plan' | 'topup' | 'promo' | 'adjustment';
export type EntryKind = 'grant' | 'reserve' | 'consume' | 'release' | 'expire' | 'refund' | 'adjustment';

export interface Grant {
  readonly id: string;
  readonly kind: GrantKind;
  readonly amount: Micros;
  /** Unspent amount, including reserved credits. */
  readonly remaining: Micros;
  readonly effectiveAt: string;
  readonly expiresAt?: string;
}

/** State of a tenant's credits. */
export interface AccountState {
  /** Whether credits are limited: `available` is what the grants hold. Otherwise they are only counted. */
  readonly metered: boolean;
  /** Whether the tenant ever had a grant, and is metered for that reason. */
  readonly granted: boolean;
  /** Grants that have not expired; those that were used up remain until the end of the month. */
  readonly grants: readonly Grant[];
  /** Part of the reservations that grants cover. */
  readonly reserved: Micros;
  /** Part of the reservations that exceeds the grants. */
  readonly reservedOverage: Micros;
  /** Sum of all reservations, including those made while credits are unlimited. */
  readonly held: Micros;
  /** Sum of the ledger. Equal to what is available while credits are limited. */
  readonly balance: Micros;
  /** Number of ledger entries. */
  readonly entries: number;
  /** Month to which the following fields refer. */
  readonly month: string;
  readonly used: Micros;
  readonly overage: Micros;
  /** Thresholds for which an alert was sent this month. */
  readonly announced: { readonly cap: number; readonly grants: number; readonly overage: boolean };
}

/** An entry of the ledger before it is attributed. */
export interface BookEntry {
  readonly seq: number;
  readonly kind: EntryKind;
  readonly amount: Micros;
  readonly balanceAfter: Micros;
  readonly description: string;
  readonly grantId?: string;
}

export interface ReservedParts {
  readonly amount: Micros;
  readonly fromGrants: Micros;
  readonly beyond: Micros;
}

const NO_ALERTS = { cap: 0, grants: 0, overage: false };

export function emptyAccount(month: string): AccountState {
  return {
    ...{ metered: false, granted: false, grants: [], reserved: 0, reservedOverage: 0, held: 0, balance: 0 },
    ...{ entries: 0, month, used: 0, overage: 0, announced: NO_ALERTS },
  };
}

/** Returns the account in the month of `now`: in a new month, the monthly counts start at zero. */
export function inMonth(state: AccountState, now: string): AccountState {
  const month = monthOf(now);
  if (state.month === month) return state;
  const grants = state.grants.filter(({ remaining }) => remaining > 0);
  return { ...state, grants, month, used: 0, overage: 0, announced: NO_ALERTS };
}

export function availableOf({ grants, reserved }: AccountState): Micros {
  return grants.reduce((sum, { remaining }) => sum + remaining, 0) - reserved;
}

const KIND_ORDER: readonly GrantKind[] = ['promo', 'plan', 'topup', 'adjustment'];

/** Orders grants as they are spent: earliest expiry first, then promo, plan, top-up, adjustment, then the oldest. */
export function inSpendOrder(grants: readonly Grant[]): Grant[] {
  const rank = ({ kind }: Grant) => KIND_ORDER.indexOf(kind);
  return [...grants].sort(
    (a, b) =>
      compareCodeUnits(a.expiresAt ?? '~', b.expiresAt ?? '~') ||
      rank(a) - rank(b) ||
      compareCodeUnits(a.effectiveAt, b.effectiveAt) ||
      compareCodeUnits(a.id, b.id),
  );
}

/**
 * Applies changes to an account and collects their ledger entries. It guarantees that what is available never falls below
 * zero, and that the balance is the sum of all entries.
 */
export class Book {
  readonly entries: BookEntry[] = [];
  private account: AccountState;

  /** `metered`: whether the credits of all tenants are limited. */
  constructor(
    state: AccountState,
    private readonly now: string,
    metered: boolean,
  ) {
    this.account = inMonth(state, now);
    this.limit(metered || state.granted);
    this.expireGrants();
  }

  get state(): AccountState {
    return this.account;
  }

  get available(): Micros {
    return availableOf(this.account);
  }

  /** Reserves up to `amount` of the available credits, and the rest of it as overage. Returns both parts. */
  reserve(amount: Micros): ReservedParts {
    const fromGrants = this.account.metered ? Math.min(this.available, amount) : 0;
    const beyond = this.account.metered ? amount - fromGrants : 0;
    this.change({
      reserved: this.account.reserved + fromGrants,
      reservedOverage: this.account.reservedOverage + beyond,
      held: this.account.held + amount,
    });
    this.enter('reserve', -fromGrants, 'Reserved');
    return { amount, fromGrants, beyond };
  }

  release({ amount, fromGrants, beyond }: ReservedParts, description = 'Released'): void {
    this.change({
      reserved: this.account.reserved - fromGrants,
      reservedOverage: this.account.reservedOverage - beyond,
      held: this.account.held - amount,
    });
    this.enter('release', fromGrants, description);
    this.expireGrants();
  }

  /** Charges an amount. Returns the part that exceeded the available credits. */
  consume(amount: Micros, description: string): Micros {
    const fromGrants = this.account.metered ? Math.min(this.available, amount) : 0;
    const overage = this.account.metered ? amount - fromGrants : 0;
    this.change({
      grants: spend(this.account.grants, fromGrants),
      used: this.account.used + amount,
      overage: this.account.overage + overage,
    });
    // This entry comes first, so that no entry makes the balance negative.
    this.enter('adjustment', overage, 'Overage, charged apart from the balance');
    this.enter('consume', -amount, description);
    return overage;
  }

  /** Adds a grant. From the first grant on, credits are limited. */
  grant(grant: Grant, description: string): void {
    this.change({ granted: true });
    this.limit(true);
    this.change({ grants: [...this.account.grants, grant] });
    this.enter(grant.kind === 'adjustment' ? 'adjustment' : 'grant', grant.amount, description, grant.id);
  }

  announce(announced: Partial<AccountState['announced']>): void {
    this.change({ announced: { ...this.account.announced, ...announced } });
  }

  private change(changes: Partial<AccountState>): void {
    this.account = { ...this.account, ...changes };
  }

  private enter(kind: EntryKind, amount: Micros, description: string, grantId?: string): void {
    if (amount === 0) return;
    const balance = this.account.balance + amount;
    const seq = this.account.entries + 1;
    this.change({ balance, entries: seq });
    this.entries.push({
      seq,
      kind,
      amount,
      balanceAfter: balance,
      description,
      ...(grantId !== undefined && { grantId }),
    });
  }

  /** Starts or stops limiting credits. Usage that was counted before does not reduce the grants. */
  private limit(metered: boolean): void {
    if (metered === this.account.metered) return;
    this.change({ metered });
    if (metered) this.enter('adjustment', this.available - this.account.balance, 'Used before credits were limited');
  }

  /** Ends expired grants. Reserved parts of them remain until the reservations end. */
  private expireGrants(): void {
    for (const grant of inSpendOrder(this.account.grants)) {
      if (grant.expiresAt === undefined || grant.expiresAt > this.now) continue;
      const expired = Math.min(grant.remaining, this.available);
      const remaining = grant.remaining - expired;
      const rest = this.account.grants.filter(({ id }) => id !== grant.id);
      this.change({ grants: remaining > 0 ? [...rest, { ...grant, remaining }] : rest });
      this.enter('expire', -expired, 'Expired', grant.id);
    }
  }
}

function spend(grants: readonly Grant[], amount: Micros): Grant[] {
  let left = amount;
  return inSpendOrder(grants).map((grant) => {
    const part = Math.min(grant.remaining, left);
    left -= part;
    return part === 0 ? grant : { ...grant, remaining: grant.remaining - part };
  });
}
