import { NotFound } from '@commonplace/kit/errors';
import { homeOf } from '@commonplace/kit/id';
import type { CreditParts } from '../parts.js';
import type { Payer } from '../records.js';

/** `begin`: new work, which is refused if the Org's deletion is scheduled. `charge`: work that has begun. */
type Purpose = 'begin' | 'charge';

/**
 * Returns who pays for work in a tenant, which may be given by a workspace of it: the Org, or the Personal tenant of the
 * person for whom the work is done; without one, that of the Personal workspace's oldest owner. Throws NotFound if there
 * is no such tenant.
 */
export async function findPayer(
  { orgs, workspaces, workspaceMembers }: CreditParts,
  tenant: string,
  userId: string | undefined,
  purpose: Purpose,
): Promise<Payer> {
  if (userId !== undefined && tenant === homeOf(userId)) return { tenant, userId };
  const workspace = await workspaces.records.get(tenant);
  const org = await orgs.records.get(workspace?.orgId ?? tenant);
  if (org !== undefined) {
    if (purpose === 'begin' && org.status !== 'active') throw NotFound();
    return { tenant: org.id, orgId: org.id };
  }
  if (workspace === undefined || workspace.orgId !== undefined) throw NotFound();
  const person = userId ?? (await workspaceMembers.owners(tenant))[0]?.userId;
  if (person === undefined) throw NotFound();
  return { tenant: homeOf(person), userId: person };
}
