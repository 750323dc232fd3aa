import type { Attribution, ChargeKey } from '../domain/charge.js';
import type { Spent } from '../stores/runs.js';

/** The credits of tenants. All amounts are in millionths of a credit. */
export interface Ledger {
  /**
   * Reserves an amount. Throws `insufficient_credits` or `usage_cap_reached` if it is not available, and
   * `service_unavailable` if the ledger cannot be reached; then nothing is reserved. `max` is the run's own limit.
   */
  reserve(
    key: ChargeKey,
    about: Attribution,
    micros: number,
    run: { readonly max?: number | undefined },
  ): Promise<void>;
  /** Throws the errors of `reserve` if an amount could not be reserved even after all other reservations have ended. */
  check(about: Attribution, micros: number): Promise<void>;
  /** Extends a reservation by its time to live. */
  renew(key: ChargeKey): Promise<void>;
  /** Charges the used amount, releases the rest of the reservation, and counts the usage. */
  settle(key: ChargeKey, about: Attribution, spent: Spent): Promise<void>;
  /** Releases an unused reservation. */
  release(key: ChargeKey): Promise<void>;
}
