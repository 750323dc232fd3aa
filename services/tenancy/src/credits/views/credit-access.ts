import { type Caller, defaultOrgId } from '@commonplace/kit/auth';
import { homeOf } from '@commonplace/kit/id';
import { orgRoleAtLeast } from '../../domain/roles.js';
import type { OrgAccess } from '../../policy.js';
import type { CreditParts } from '../parts.js';

/** The tenant of a request about credits, and the part that the caller may see. */
export interface CreditAccess {
  readonly tenant: string;
  readonly orgId: string | undefined;
  /** The caller's membership of the Org; undefined in the Personal tenant. */
  readonly inOrg: OrgAccess | undefined;
  /** The only person whose share the caller may see; undefined if the caller may see everything. */
  readonly onlyUserId: string | undefined;
}

/** Returns the tenant of the caller's credential. Throws NotFound if they are no active member of its Org. */
export async function findCreditAccess({ policy }: CreditParts, caller: Caller): Promise<CreditAccess> {
  const orgId = defaultOrgId(caller) ?? undefined;
  if (orgId === undefined) {
    return { tenant: homeOf(caller.userId), orgId, inOrg: undefined, onlyUserId: undefined };
  }
  const inOrg = await policy.seeOrg(orgId, caller);
  const seesAll = orgRoleAtLeast(inOrg.member.role, 'admin');
  return { tenant: orgId, orgId, inOrg, onlyUserId: seesAll ? undefined : caller.userId };
}
