import type { Actor } from '@commonplace/kit/auth';
import { derivedId } from '@commonplace/kit/id';
import { DEAD_INDEX, type JobRecord, type QueueSpec } from '@commonplace/kit/jobs';
import type { CollectionSpec, Collections, StoredRecord } from '@commonplace/kit/store';
import type { Micros } from './domain/amounts.js';
import type { AccountState, BookEntry } from './domain/book.js';
import type { UsageTerms } from './domain/settings.js';

export type SourceType = 'agent_run' | 'chat' | 'search' | 'embedding' | 'import' | 'automation' | 'manual';

/** Who pays: an Org, or a person's Personal tenant. */
export interface Payer {
  /** The Org's id, or the id of the Personal tenant (`homeOf`). */
  readonly tenant: string;
  readonly orgId?: string;
  /** The person whose Personal tenant pays; absent for an Org. */
  readonly userId?: string;
}

/**
 * The credits of a tenant; its id is the tenant's. Every unit of work that charges or reserves replaces this record, so
 * that two of them never overlap, and their other reads are consistent.
 */
export interface AccountRecord extends StoredRecord, AccountState {
  readonly tenant: string;
  readonly orgId?: string;
  readonly userId?: string;
}

const accountCollection: CollectionSpec<AccountRecord> = { name: 'credit_accounts', indexes: [] };

/** An entry of a ledger, which is never changed. */
export interface LedgerRecord extends StoredRecord, BookEntry {
  readonly tenant: string;
  readonly at: string;
  /** Kind of work that caused the entry; absent if no single piece of work did. */
  readonly sourceType?: SourceType;
  readonly sourceId?: string;
  /** The person to whom the entry is attributed. */
  readonly userId?: string;
}

const ledgerCollection: CollectionSpec<LedgerRecord> = {
  name: 'credit_ledger',
  indexes: [{ fields: ['tenant', 'seq'] }, { fields: ['tenant', 'userId', 'seq'] }],
};

/** The person, workspace, agent and model to which usage is attributed. */
export interface Attribution {
  readonly feature: string;
  readonly model?: string;
  readonly agentId?: string;
  readonly workspaceId?: string;
  readonly userId?: string;
  readonly apiKeyId?: string;
}

/**
 * A reservation, or the mark of a charge that was made without one. Its id is derived from its key, so that no key is
 * charged twice.
 */
export interface ReservationRecord extends JobRecord {
  readonly tenant: string;
  readonly orgId?: string;
  /** `<source type>:<source id>` */
  readonly sourceKey: string;
  readonly sourceType: SourceType;
  readonly sourceId: string;
  readonly step: string;
  readonly attempt: number;
  readonly state: 'open' | 'settled' | 'released';
  readonly amount: Micros;
  readonly fromGrants: Micros;
  readonly beyond: Micros;
  /** Amount that counts against the source's cap: the reserved amount, or after the charge the charged one. */
  readonly taken: Micros;
  /** The part of the charge that exceeded the available credits. */
  readonly overage: Micros;
  readonly userId?: string;
  readonly attribution: Attribution;
  /** Time at which the reservation is released unless it is renewed. */
  readonly expiresAt: string;
  /** Equal to `expiresAt` while the reservation is open, or the end of a worker's lease. */
  readonly dueAt?: string;
  /** When the record is deleted. */
  readonly keepUntil: string;
}

const reservationCollection: CollectionSpec<ReservationRecord> = {
  name: 'credit_reservations',
  indexes: [
    { fields: ['sourceKey'] },
    { fields: ['tenant', 'state', 'userId'] },
    { fields: ['dueAt'], sparse: true },
    { fields: ['keepUntil'] },
    DEAD_INDEX,
  ],
  expires: 'keepUntil',
};

export const reservationQueue: QueueSpec<ReservationRecord> = {
  name: 'tenancy.credit_reservations',
  collection: reservationCollection,
  due: 'dueAt',
  describe: ({ sourceKey, step, attempt }) => `reservation of ${sourceKey}, step ${step}, attempt ${attempt}`,
  keptBecause: () => 'it holds credits, which are released when it succeeds',
};

/** The expiry of a grant, due at that time. Its id is the grant's. */
export interface GrantExpiryRecord extends JobRecord {
  readonly tenant: string;
  readonly dueAt?: string;
}

const grantExpiryCollection: CollectionSpec<GrantExpiryRecord> = {
  name: 'credit_grant_expiries',
  indexes: [{ fields: ['tenant'] }, { fields: ['dueAt'], sparse: true }, DEAD_INDEX],
};

export const grantExpiryQueue: QueueSpec<GrantExpiryRecord> = {
  name: 'tenancy.credit_grants',
  collection: grantExpiryCollection,
  due: 'dueAt',
  describe: ({ id, tenant }) => `expiry of grant ${id} of ${tenant}`,
};

/** Usage of one hour or one day with one attribution. */
export interface UsageRecord extends StoredRecord, Attribution {
  readonly tenant: string;
  readonly interval: 'hour' | 'day';
  /** Beginning of the interval. */
  readonly at: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly credits: Micros;
  readonly requests: number;
}

const usageCollection: CollectionSpec<UsageRecord> = {
  name: 'usage',
  indexes: [{ fields: ['tenant', 'interval', 'at'] }, { fields: ['tenant', 'userId', 'interval', 'at'] }],
};

/** A tenant's limits on usage; its id is the tenant's. */
export interface UsageSettingsRecord extends StoredRecord {
  readonly tenant: string;
  readonly terms: Partial<UsageTerms>;
  readonly updatedAt: string;
  /** Who made the last change; absent if that was an earlier version. */
  readonly updatedBy?: Actor | undefined;
}

const usageSettingsCollection: CollectionSpec<UsageSettingsRecord> = { name: 'usage_settings', indexes: [] };

/** The collections of credits. */
export const CREDIT_RECORDS = {
  accounts: accountCollection,
  ledger: ledgerCollection,
  reservations: reservationCollection,
  grantExpiries: grantExpiryCollection,
  usage: usageCollection,
  usageSettings: usageSettingsCollection,
};
export type CreditRecords = Collections<typeof CREDIT_RECORDS>;

/** Identifies a reservation or a charge. */
export interface Key {
  readonly sourceType: SourceType;
  readonly sourceId: string;
  readonly step: string;
  readonly attempt: number;
}

export function keyId({ sourceType, sourceId, step, attempt }: Key): string {
  return derivedId(`credits:${JSON.stringify([sourceType, sourceId, step, attempt])}`);
}
