import type { Spent } from '../stores/runs.js';

/** Identifies what is charged: one attempt at one step. Charging it again changes nothing. */
export interface ChargeKey {
  readonly source: 'chat' | 'agent_run';
  readonly runId: string;
  /** Number of a step, or what is instead of one. */
  readonly step: number | string;
  readonly attempt: number;
}

/** What usage is counted by. */
export interface Attribution {
  readonly tenant: string;
  readonly feature: 'chat' | 'agent_run';
  readonly model: string;
  readonly userId: string;
  readonly apiKeyId?: string | undefined;
  readonly agentId?: string | undefined;
  readonly workspaceId?: string | undefined;
}

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
