import { GetCreditsResponse } from '@commonplace/proto/tenancy/v1/credit_service.js';
import { shareOfMember } from '../commands/reserve.js';
import { formatAmount, type Micros, ofCredits } from '../domain/amounts.js';
import { type AccountState, availableOf, emptyAccount, inMonth, inSpendOrder } from '../domain/book.js';
import { monthOf, periodOf } from '../domain/periods.js';
import { fullTerms } from '../domain/settings.js';
import type { CreditParts } from '../parts.js';
import type { CreditAccess } from './credit-access.js';
import { toGrant, toTenant } from './wire.js';

/** Returns a tenant's present account; an empty one if nothing was ever granted or used. */
export async function readAccount({ accounts, now, metersAll }: CreditParts, tenant: string): Promise<AccountState> {
  const at = now();
  const state = inMonth((await accounts.get(tenant)) ?? emptyAccount(monthOf(at)), at);
  return { ...state, metered: metersAll || state.granted };
}

/** Returns the balance for a caller who may see all of it. */
export async function readBalance(parts: CreditParts, access: CreditAccess): Promise<GetCreditsResponse> {
  const account = await readAccount(parts, access.tenant);
  const { onlyUserId } = access;
  if (onlyUserId !== undefined) return readShare(parts, access, account, onlyUserId);
  const { grants, reserved, used, overage } = account;
  return toBalance(access, account, {
    available: account.metered ? availableOf(account) : undefined,
    ...{ used, overage, reserved, grants },
  });
}

/** Returns a member's own share of an Org's balance, and the amount of the Org's credits that they may still use. */
async function readShare(
  parts: CreditParts,
  access: CreditAccess,
  account: AccountState,
  userId: string,
): Promise<GetCreditsResponse> {
  const { tenant } = access;
  const { used, reserved } = await shareOfMember(parts, { tenant }, account, userId);
  const taken = used + reserved;
  const { perMemberCapCredits: cap } = fullTerms((await parts.usageSettings.get(tenant))?.terms);
  const limits = [
    ...(account.metered ? [availableOf(account)] : []),
    ...(cap === undefined ? [] : [Math.max(0, ofCredits(cap) - taken)]),
  ];
  return toBalance(access, account, {
    available: limits.length === 0 ? undefined : Math.min(...limits),
    ...{ used: taken - reserved, overage: 0, reserved, grants: [] },
  });
}

interface Figures extends Pick<AccountState, 'used' | 'overage' | 'reserved' | 'grants'> {
  readonly available: Micros | undefined;
}

function toBalance({ orgId }: CreditAccess, { month, grants: all }: AccountState, shown: Figures): GetCreditsResponse {
  const granted = all.reduce((sum, { amount }) => sum + amount, 0);
  const { available, used, reserved, overage, grants } = shown;
  return GetCreditsResponse.fromPartial({
    tenant: toTenant(orgId),
    available: available === undefined ? undefined : formatAmount(available),
    ...{ granted: formatAmount(granted), used: formatAmount(used), reserved: formatAmount(reserved) },
    ...{ overageUsed: formatAmount(overage), unit: 'credit', period: periodOf(month) },
    grants: inSpendOrder(grants).map(toGrant),
  });
}
