import type { PersonMemberships } from '@commonplace/platform/memberships';
import type { Shared } from './parts.js';

/** The person who takes over what somebody who has left an Org leaves there. */
export interface Successor {
  readonly id: string;
  readonly name: string;
  readonly workspaces: PersonMemberships['workspaces'];
}

type Parts = Pick<Shared, 'memberships' | 'systemCall'> & { readonly peers: Pick<Shared['peers'], 'auth'> };

/** Returns the successor with this id; undefined for an empty id, and unless they belong to the Org. */
export async function successorOf(parts: Parts, orgId: string, id: string): Promise<Successor | undefined> {
  if (id === '') return undefined;
  const { orgs, workspaces } = await parts.memberships.fresh(id, parts.systemCall());
  if (!orgs.has(orgId)) return undefined;
  const { users } = await parts.peers.auth.findUsers({ ids: [id], emails: [] }, parts.systemCall());
  return { id, name: users[0]?.name ?? '', workspaces };
}
