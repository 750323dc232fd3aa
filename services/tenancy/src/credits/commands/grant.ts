import { newId } from '@commonplace/kit/id';
import type { UnitOfWork } from '@commonplace/kit/store';
import type { Micros } from '../domain/amounts.js';
import type { Grant, GrantKind } from '../domain/book.js';
import type { CreditParts } from '../parts.js';
import type { CreditRecords, Payer } from '../records.js';
import { openAccount } from './account.js';

interface NewGrant {
  readonly kind: GrantKind;
  readonly amount: Micros;
  readonly expiresAt?: string;
}

/** Grants credits to a tenant. From the first grant on, the tenant's credits are limited. */
export async function grantCredits(
  parts: CreditRecords & Pick<CreditParts, 'metersAll' | 'now'>,
  work: UnitOfWork,
  payer: Payer,
  { kind, amount, expiresAt }: NewGrant,
): Promise<Grant> {
  const grant: Grant = {
    ...{ id: newId(), kind, amount, remaining: amount, effectiveAt: parts.now() },
    ...(expiresAt !== undefined && { expiresAt }),
  };
  const account = await openAccount(parts, work, payer);
  account.book.grant(grant, kind === 'adjustment' ? 'Adjustment' : `Grant (${kind})`);
  account.save({ sourceType: 'manual' });
  if (expiresAt !== undefined) {
    work.insert(parts.grantExpiries, { id: grant.id, tenant: payer.tenant, dueAt: expiresAt });
  }
  return grant;
}
