import type { Log } from '@commonplace/kit/log';
import type { Store } from '@commonplace/kit/store';
import type { Parts } from '../parts.js';
import { type CreditRecords, openCreditRecords } from './records.js';

/** The dependencies of the handlers and jobs of credits. */
export interface CreditParts
  extends CreditRecords,
    Pick<Parts, 'policy' | 'orgs' | 'orgMembers' | 'workspaces' | 'workspaceMembers'> {
  readonly store: Store;
  readonly log: Log;
  /** Whether the credits of every tenant are limited, rather than only those of tenants with grants. */
  readonly metersAll: boolean;
  /** Returns the current time as RFC 3339, plus `afterMs` milliseconds if given. */
  now(afterMs?: number): string;
}

export async function openCreditParts(parts: Parts): Promise<CreditParts> {
  const { store, log, settings, now, policy, orgs, orgMembers, workspaces, workspaceMembers } = parts;
  const metersAll = settings.credits === 'metered';
  return {
    ...(await openCreditRecords(store)),
    store,
    log,
    metersAll,
    now,
    policy,
    orgs,
    orgMembers,
    workspaces,
    workspaceMembers,
  };
}
