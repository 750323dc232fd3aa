import { defaultOrgId, reachesTenant } from '@commonplace/kit/auth';
import { NotFound, OrgAdminRequired, TenantBoundary } from '@commonplace/kit/errors';
import { homeOf } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import type { Where } from '@commonplace/kit/store';
import type { MembershipCache } from '@commonplace/platform/memberships';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import type { AuditRecord } from './records.js';

/**
 * Returns the filter for the audit records that a caller may read: those of an Org that the caller administers, or
 * those of the caller's Personal tenants. A credential limited to workspaces reads only the records of these
 * workspaces. Throws NotFound if the person is not in the Org, TenantBoundary if the credential does not reach the
 * tenant, and OrgAdminRequired.
 */
export async function auditReach(
  memberships: MembershipCache,
  context: CallContext,
  asked: string | undefined,
): Promise<Where<AuditRecord>> {
  const { caller } = context;
  const orgId = asked ?? defaultOrgId(caller);
  const tenant =
    orgId === null ? await personalTenants(memberships, context) : await orgTenant(memberships, context, orgId);
  const only = caller.workspaceId === undefined ? caller.credential.workspaceIds : [caller.workspaceId];
  return only === undefined ? { tenant } : { tenant, workspaceId: { in: [...only] } };
}

async function orgTenant(memberships: MembershipCache, context: CallContext, orgId: string): Promise<string> {
  const { caller, onward } = context;
  const known = await memberships.of(caller.userId, onward);
  const person = known.orgs.has(orgId) ? known : await memberships.fresh(caller.userId, onward);
  const role = person.orgs.get(orgId)?.role;
  if (role === undefined) throw NotFound({}, { param: 'org_id' });
  if (!reachesTenant(caller, orgId)) throw TenantBoundary();
  if (role !== OrgRole.ADMIN && role !== OrgRole.OWNER) {
    throw OrgAdminRequired({}, { message: 'Only administrators of the Org may read its audit log.' });
  }
  return orgId;
}

/** Returns the tenant ids of the person's home and of the other Personal workspaces that they own. */
async function personalTenants(
  memberships: MembershipCache,
  { caller, onward }: CallContext,
): Promise<{ in: string[] }> {
  if (!reachesTenant(caller, null)) throw TenantBoundary();
  const { workspaces } = await memberships.of(caller.userId, onward);
  const owned = [...workspaces.values()].filter(({ orgId, role }) => orgId === '' && role === WorkspaceRole.OWNER);
  return { in: [...new Set([homeOf(caller.userId), ...owned.map(({ workspaceId }) => workspaceId)])] };
}
