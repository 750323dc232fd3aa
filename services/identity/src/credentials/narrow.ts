import type { Caller } from '@commonplace/kit/auth';
import { invalidField, NotFound, TenantBoundary } from '@commonplace/kit/errors';
import { isUuid } from '@commonplace/kit/id';
import { networkOf } from '@commonplace/kit/network';
import type { CallOptions } from '@commonplace/kit/rpc';
import type { Reach } from '../reach.js';
import type { Principal } from './principal.js';

/** The tenant and workspace that a request limits its credential to; empty if it names none. */
interface Narrowing {
  /** The `X-Tenant` header: `personal` or the id of an Org. */
  readonly tenant: string;
  /** The `X-Workspace-Id` header. */
  readonly workspaceId: string;
  /** The client's address; empty if it is not known. */
  readonly clientIp?: string;
}

/**
 * Returns the caller for a credential, limited by the request's headers. Throws NotFound for what the person can
 * not see, and TenantBoundary for what another credential of theirs could reach (api: 2.2).
 */
export async function narrow(
  { user, credential, tenant: bound }: Principal,
  { tenant: named, workspaceId, clientIp = '' }: Narrowing,
  reach: Reach,
  options: CallOptions,
): Promise<Caller> {
  let tenant = bound;
  const network = networkOf(clientIp);
  if (named !== '') {
    const orgId = orgIdOf(named);
    if (bound !== undefined && bound.orgId !== orgId) throw TenantBoundary({}, { message: OTHER_TENANT });
    if (orgId !== null && !(await reach.org(user.id, orgId, options))) throw NotFound();
    tenant = { orgId };
  }
  if (workspaceId !== '') {
    if (!isUuid(workspaceId))
      throw invalidField('X-Workspace-Id', 'invalid_id', 'X-Workspace-Id must be the id of a workspace.');
    const owner = await reach.workspace(user.id, workspaceId, options);
    if (owner === undefined) throw NotFound();
    if (tenant !== undefined && tenant.orgId !== owner.orgId) throw TenantBoundary({}, { message: OTHER_TENANT });
    if (credential.workspaceIds?.includes(workspaceId) === false) {
      throw TenantBoundary({}, { message: 'X-Workspace-Id names a workspace that this key is not limited to.' });
    }
    tenant = owner;
  }
  return {
    userId: user.id,
    userName: user.name,
    userEmail: user.email,
    ...(tenant === undefined ? {} : { tenant }),
    ...(workspaceId === '' ? {} : { workspaceId }),
    credential,
    ...(network === undefined ? {} : { network }),
  };
}

const OTHER_TENANT = 'X-Tenant or X-Workspace-Id names another tenant than the credential reaches.';

function orgIdOf(tenant: string): string | null {
  if (tenant === 'personal') return null;
  if (!isUuid(tenant)) throw invalidField('X-Tenant', 'invalid_id', 'X-Tenant must be `personal` or the id of an Org.');
  return tenant;
}
