import { homeOf } from '@commonplace/kit/id';
import { findAll, inWork, openCollections, type Store } from '@commonplace/kit/store';
import { grantCredits } from './credits/commands/grant.js';
import { formatAmount, MAX_BALANCE, parseAmount } from './credits/domain/amounts.js';
import { availableOf, type GrantKind, inMonth, inSpendOrder } from './credits/domain/book.js';
import { type AccountRecord, CREDIT_RECORDS, type Payer } from './credits/records.js';

/** The tenant of a grant: an Org, or a person's Personal tenant. */
export type OperatorTenant = { readonly orgId: string } | { readonly userId: string };

interface OperatorGrant {
  readonly id: string;
  readonly kind: GrantKind;
  readonly amount: string;
  readonly remaining: string;
  readonly effectiveAt: string;
  readonly expiresAt: string | null;
}

/** The credits of a tenant, as operator commands show them. Amounts are decimal numbers of credits. */
export interface OperatorAccount {
  readonly tenant: string;
  readonly orgId: string | null;
  readonly userId: string | null;
  /** Null while credits are only counted. */
  readonly available: string | null;
  readonly reserved: string;
  /** Used in the present month, and the part of it that exceeded the available credits. */
  readonly used: string;
  readonly overage: string;
  readonly grants: readonly OperatorGrant[];
}

/** Grants and lists credits for the operator of an installation. */
interface CreditAdmin {
  /** Grants credits to a tenant. Throws `RangeError` for an amount that cannot be granted. */
  grant(
    tenant: OperatorTenant,
    terms: { kind: GrantKind; amount: string; expiresAt?: string },
  ): Promise<OperatorAccount>;
  /** Returns a tenant's credits, or those of all tenants that have used or been granted some. */
  list(tenant?: OperatorTenant): Promise<OperatorAccount[]>;
}

const CHUNK = 500;

/** Opens the operator's credits directly on the records of tenancy. */
export async function openCreditAdmin(store: Store, clock: () => number = Date.now): Promise<CreditAdmin> {
  const records = await openCollections(store, CREDIT_RECORDS);
  const { accounts } = records;
  const now = (afterMs = 0) => new Date(clock() + afterMs).toISOString();

  const all = (): Promise<AccountRecord[]> => findAll(accounts, { where: {} }, CHUNK);

  async function one(tenant: OperatorTenant): Promise<AccountRecord[]> {
    const account = await accounts.get(payerOf(tenant).tenant);
    return account === undefined ? [] : [account];
  }

  return {
    async grant(tenant, { kind, amount: text, expiresAt }) {
      const payer = payerOf(tenant);
      const amount = parseAmount(text, MAX_BALANCE);
      if (amount === undefined || amount === 0) throw new RangeError(`${text} is not an amount of credits above 0`);
      if (expiresAt !== undefined && expiresAt <= now()) throw new RangeError(`${expiresAt} is over`);
      await inWork(store, async (work) => {
        const before = await work.get(accounts, payer.tenant);
        const held = (before?.grants ?? []).reduce((sum, { remaining }) => sum + remaining, 0);
        if (held + amount > MAX_BALANCE) throw new RangeError(`the tenant would have more than a billion credits`);
        const terms = { kind, amount, ...(expiresAt !== undefined && { expiresAt }) };
        await grantCredits({ ...records, now, metersAll: false }, work, payer, terms);
      });
      const [account] = await one(tenant);
      return toOperatorAccount(account as AccountRecord, now());
    },
    async list(tenant) {
      const found = tenant === undefined ? await all() : await one(tenant);
      return found.map((account) => toOperatorAccount(account, now()));
    },
  };
}

function payerOf(tenant: OperatorTenant): Payer {
  return 'orgId' in tenant ? { ...tenant, tenant: tenant.orgId } : { ...tenant, tenant: homeOf(tenant.userId) };
}

function toOperatorAccount({ tenant, orgId, userId, ...stored }: AccountRecord, now: string): OperatorAccount {
  const state = inMonth(stored, now);
  return {
    ...{ tenant, orgId: orgId ?? null, userId: userId ?? null },
    available: state.metered ? formatAmount(availableOf(state)) : null,
    reserved: formatAmount(state.reserved),
    used: formatAmount(state.used),
    overage: formatAmount(state.overage),
    grants: inSpendOrder(state.grants).map(({ amount, remaining, expiresAt = null, ...grant }) => ({
      ...grant,
      ...{ amount: formatAmount(amount), remaining: formatAmount(remaining), expiresAt },
    })),
  };
}
