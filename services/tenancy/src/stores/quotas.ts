import { LimitReached } from '@commonplace/kit/errors';
import { createQuota, type Quota, quotaCollection } from '@commonplace/kit/quota';
import type { Store } from '@commonplace/kit/store';
import { MAX_CONNECTORS_PER_WORKSPACE, type Settings } from '../config.js';
import type { Connectors } from './connectors.js';
import type { Groups } from './groups.js';
import type { OrgMembers } from './org-members.js';

/** Limits on the number of records. */
export interface Quotas {
  /** Per Org: counts members, suspended members and open invitations. */
  readonly orgMembers: Quota;
  /** Per Org. */
  readonly groups: Quota;
  /** Per group. */
  readonly groupMembers: Quota;
  /** Per person and Org, by the key `<org>:<user>`. */
  readonly groupsOfPerson: Quota;
  /** Per workspace. */
  readonly connectors: Quota;
}

/** The stores whose records are counted. */
interface QuotaStores {
  readonly orgMembers: OrgMembers;
  readonly groups: Groups;
  readonly connectors: Connectors;
}

export async function openQuotas(
  store: Store,
  settings: Settings,
  { orgMembers, groups, connectors }: QuotaStores,
): Promise<Quotas> {
  const records = await store.collection(quotaCollection);
  return {
    orgMembers: createQuota(records, {
      name: 'org_members',
      limit: settings.orgMembers,
      count: (orgId) => orgMembers.countPlaces(orgId),
      refuse: (limit) => LimitReached({ limit, what: 'members of an Org' }),
    }),
    groups: createQuota(records, {
      name: 'groups',
      limit: settings.orgGroups,
      count: (orgId) => groups.records.count({ orgId }),
      refuse: (limit) => LimitReached({ limit, what: 'groups of an Org' }),
    }),
    groupMembers: createQuota(records, {
      name: 'group_members',
      limit: settings.orgGroupMembers,
      count: (groupId) => groups.members.count({ groupId }),
      refuse: (limit) => LimitReached({ limit, what: 'members of a group' }),
    }),
    groupsOfPerson: createQuota(records, {
      name: 'groups_of_person',
      limit: settings.groupsOfPerson,
      count: (key) => groups.countPlaces(key),
      refuse: (limit) => LimitReached({ limit, what: 'groups of a person' }),
    }),
    connectors: createQuota(records, {
      name: 'connectors',
      limit: MAX_CONNECTORS_PER_WORKSPACE,
      count: async (workspaceId) => (await connectors.ofWorkspace(workspaceId)).length,
      refuse: (limit) => LimitReached({ limit, what: 'connectors in a workspace' }),
    }),
  };
}
