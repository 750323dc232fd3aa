import type { Attribution, ChargeKey } from '../domain/charge.js';
import type { Spent } from '../stores/runs.js';

/** The credits of tenants. All amounts are millionths of a credit. */
export interface Ledger {
  /**
   * Reserves an amount. Throws `insufficient_credits` or `usage_cap_reached` if there is not as much, and
   * `service_unavailable` if the ledger cannot be reached; nothing is reserved then. `max` is the run's own limit.
   */
  reserve(
    key: ChargeKey,
    about: Attribution,
    micros: number,
    run: { readonly max?: number | undefined },
  ): Promise<void>;
  /** Throws like `reserve` if work that costs so much could not begin, also once reservations of other work have ended. */
  check(about: Attribution, micros: number): Promise<void>;
  /** Keeps the reservation for another lease. */
  renew(key: ChargeKey): Promise<void>;
  /** Charges what was used, releases the rest of the reservation, and counts the usage. */
  settle(key: ChargeKey, about: Attribution, spent: Spent): Promise<void>;
  /** Releases a reservation of which nothing was used. */
  release(key: ChargeKey): Promise<void>;
}
