import { type Caller, reachesTenant } from '@commonplace/kit/auth';
import { NotFound, TenantBoundary } from '@commonplace/kit/errors';
import type { PersonMemberships } from '@commonplace/kit/memberships';
import type { OrgMembership } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { OrgRole } from '@commonplace/proto/tenancy/v1/role.js';
import { OrgAdminRequired } from './errors.js';
import type { ApiKeyRecord } from './stores/api-keys.js';

export function isAdmin(membership: Pick<OrgMembership, 'role'> | undefined): boolean {
  return membership?.role === OrgRole.ADMIN || membership?.role === OrgRole.OWNER;
}

/**
 * The caller's membership in an Org that they address. Not found where the person is no member;
 * beyond the boundary where they are, and their credential does not reach it.
 */
export function requireOrg(caller: Caller, person: PersonMemberships, orgId: string): OrgMembership {
  const membership = person.orgs.get(orgId);
  if (membership === undefined) throw NotFound();
  if (!reachesTenant(caller, orgId)) throw TenantBoundary();
  return membership;
}

export function requireOrgAdmin(caller: Caller, person: PersonMemberships, orgId: string): OrgMembership {
  const membership = requireOrg(caller, person, orgId);
  if (!isAdmin(membership)) throw OrgAdminRequired();
  return membership;
}

/** Who may revoke a key: the person it acts as, and administrators of its Org; to others it is not there. */
export function requireKeyControl(caller: Caller, person: PersonMemberships, key: ApiKeyRecord): void {
  const owns = key.actingUserId === caller.userId;
  const administers = key.orgId !== undefined && isAdmin(person.orgs.get(key.orgId));
  if (!owns && !administers) throw NotFound();
  if (!reachesTenant(caller, key.orgId ?? null)) throw TenantBoundary();
}
