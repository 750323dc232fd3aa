import { openCollections } from '@commonplace/kit/store';
import type { Parts } from '../parts.js';
import { CREDIT_RECORDS, type CreditRecords } from './records.js';

/** The dependencies of the handlers and jobs of credits. */
export interface CreditParts
  extends CreditRecords,
    Pick<Parts, 'store' | 'log' | 'now' | 'policy' | 'orgs' | 'orgMembers' | 'workspaces' | 'workspaceMembers'> {
  /** Whether the credits of every tenant are limited, rather than only those of tenants with grants. */
  readonly metersAll: boolean;
}

export async function openCreditParts(parts: Parts): Promise<CreditParts> {
  const records = await openCollections(parts.store, CREDIT_RECORDS);
  return { ...parts, ...records, metersAll: parts.settings.credits === 'metered' };
}
