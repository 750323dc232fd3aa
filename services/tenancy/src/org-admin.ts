import type { Store } from '@commonplace/kit/store';
import { createOrgMembers, orgMemberCollection } from './stores/org-members.js';
import { createOrgs, orgCollection } from './stores/orgs.js';

/** An Org, as operator commands refer to it. */
interface OperatorOrg {
  readonly id: string;
  readonly name: string;
  /** Returns whether a person is an active owner or admin of the Org. */
  isAdmin(userId: string): Promise<boolean>;
}

/** Looks up Orgs for the operator of an installation, without an API key. */
interface OrgAdmin {
  /** Returns the active Org with this id or slug; undefined if there is none. */
  find(which: string): Promise<OperatorOrg | undefined>;
}

/** Opens the operator's Org lookup directly on the records of tenancy. */
export async function openOrgAdmin(store: Store): Promise<OrgAdmin> {
  const orgs = createOrgs(await store.collection(orgCollection));
  const members = createOrgMembers(await store.collection(orgMemberCollection));
  return {
    async find(which) {
      const org = (await orgs.records.get(which)) ?? (await orgs.bySlug(which));
      if (org?.status !== 'active') return undefined;
      return {
        id: org.id,
        name: org.name,
        async isAdmin(userId) {
          const member = await members.ofPerson(org.id, userId);
          return member?.status === 'active' && (member.role === 'owner' || member.role === 'admin');
        },
      };
    },
  };
}
