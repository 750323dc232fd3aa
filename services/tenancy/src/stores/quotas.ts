import { createQuota, type Quota, quotaCollection } from '@commonplace/kit/quota';
import type { Store } from '@commonplace/kit/store';
import { MAX_CONNECTORS_PER_WORKSPACE, type Settings } from '../config.js';
import { LimitReached } from '../errors.js';
import type { Connectors } from './connectors.js';
import type { OrgMembers } from './org-members.js';

/** Limits on the number of records. */
export interface Quotas {
  /** Per Org: counts members, suspended members and open invitations. */
  readonly orgMembers: Quota;
  /** Per workspace. */
  readonly connectors: Quota;
}

export async function openQuotas(
  store: Store,
  settings: Settings,
  { orgMembers, connectors }: { readonly orgMembers: OrgMembers; readonly connectors: Connectors },
): Promise<Quotas> {
  const records = await store.collection(quotaCollection);
  return {
    orgMembers: createQuota(records, {
      name: 'org_members',
      limit: settings.orgMembers,
      count: (orgId) => orgMembers.countPlaces(orgId),
      refuse: (limit) => LimitReached({ limit, what: 'members of an Org' }),
    }),
    connectors: createQuota(records, {
      name: 'connectors',
      limit: MAX_CONNECTORS_PER_WORKSPACE,
      count: async (workspaceId) => (await connectors.ofWorkspace(workspaceId)).length,
      refuse: (limit) => LimitReached({ limit, what: 'connectors in a workspace' }),
    }),
  };
}
