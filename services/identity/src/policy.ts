import { type Caller, credentialOutOfScope, reachesTenant } from '@commonplace/kit/auth';
import { NotFound, OrgAdminRequired } from '@commonplace/kit/errors';
import { isOrgRoleAtLeast, type PersonMemberships } from '@commonplace/platform/memberships';
import type { OrgMembership } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { OrgRole } from '@commonplace/proto/tenancy/v1/role.js';
import { OthersKey } from './errors.js';
import type { ApiKeyRecord } from './stores/api-keys.js';

export function isAdmin(membership: Pick<OrgMembership, 'role'> | undefined): boolean {
  return isOrgRoleAtLeast(membership?.role, OrgRole.ADMIN);
}

/**
 * Returns the caller's membership of the Org that they name. Throws NotFound if the person is not a member, and
 * TenantBoundary if they are but their credential does not reach the Org.
 */
export function requireOrg(caller: Caller, person: PersonMemberships, orgId: string): OrgMembership {
  const membership = person.orgs.get(orgId);
  if (membership === undefined) throw NotFound();
  if (!reachesTenant(caller, orgId)) throw credentialOutOfScope(caller, orgId);
  return membership;
}

export function requireOrgAdmin(caller: Caller, person: PersonMemberships, orgId: string): OrgMembership {
  const membership = requireOrg(caller, person, orgId);
  if (!isAdmin(membership)) throw OrgAdminRequired();
  return membership;
}

/**
 * Returns whether a key reaches no workspaces beyond those of the caller's credential, which may itself be limited.
 */
function isWithinWorkspaces({ credential }: Caller, { workspaceIds }: ApiKeyRecord): boolean {
  const own = credential.workspaceIds;
  return own === undefined || workspaceIds?.every((id) => own.includes(id)) === true;
}

/**
 * Throws NotFound unless the caller may revoke the key: the person it acts as and administrators of its Org may.
 * Throws TenantBoundary if only the credential does not reach it.
 */
export function requireKeyControl(caller: Caller, person: PersonMemberships, key: ApiKeyRecord): void {
  const owns = key.actingUserId === caller.userId;
  const administers = key.orgId !== undefined && isAdmin(person.orgs.get(key.orgId));
  if (!owns && !administers) throw NotFound();
  const orgId = key.orgId ?? null;
  if (!reachesTenant(caller, orgId) || !isWithinWorkspaces(caller, key)) throw credentialOutOfScope(caller, orgId);
}

/**
 * Throws unless the caller may rotate a key: the person whom it acts as may, for a key of an Org as its administrator. A
 * new secret acts as that person, so nobody else may get it.
 */
export function requireOwnKey(caller: Caller, person: PersonMemberships, key: ApiKeyRecord): void {
  requireKeyControl(caller, person, key);
  if (key.actingUserId !== caller.userId) throw OthersKey();
  if (key.orgId !== undefined) requireOrgAdmin(caller, person, key.orgId);
}
