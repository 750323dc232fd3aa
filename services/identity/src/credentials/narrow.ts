import type { Caller } from '@commonplace/kit/auth';
import { invalidField, NotFound, TenantBoundary } from '@commonplace/kit/errors';
import { isUuid } from '@commonplace/kit/id';
import type { CallOptions } from '@commonplace/kit/rpc';
import type { Reach } from '../reach.js';
import type { Principal } from './principal.js';

/** What a request narrows its credential to; empty for nothing. */
export interface Narrowing {
  /** `X-Tenant`: `personal` or an Org's id. */
  readonly tenant: string;
  /** `X-Workspace-Id`. */
  readonly workspaceId: string;
}

/**
 * The caller that a credential makes under a request's headers. What the person can't see is not
 * found; what they could reach with another credential is beyond the tenant's boundary (api: 2.2).
 */
export async function narrow(
  { user, credential, tenant: bound }: Principal,
  { tenant: named, workspaceId }: Narrowing,
  reach: Reach,
  options: CallOptions,
): Promise<Caller> {
  let tenant = bound;
  if (named !== '') {
    const orgId = orgIdOf(named);
    if (bound !== undefined && bound.orgId !== orgId) throw TenantBoundary();
    if (orgId !== null && !(await reach.org(user.id, orgId, options))) throw NotFound();
    tenant = { orgId };
  }
  if (workspaceId !== '') {
    if (!isUuid(workspaceId)) throw invalidField('X-Workspace-Id', 'invalid_id', 'This is no id of a workspace.');
    const owner = await reach.workspace(user.id, workspaceId, options);
    if (owner === undefined) throw NotFound();
    if (tenant !== undefined && tenant.orgId !== owner.orgId) throw TenantBoundary();
    if (credential.workspaceIds?.includes(workspaceId) === false) throw TenantBoundary();
    tenant = owner;
  }
  return {
    userId: user.id,
    userName: user.name,
    userEmail: user.email,
    ...(tenant === undefined ? {} : { tenant }),
    ...(workspaceId === '' ? {} : { workspaceId }),
    credential,
  };
}

function orgIdOf(tenant: string): string | null {
  if (tenant === 'personal') return null;
  if (!isUuid(tenant)) throw invalidField('X-Tenant', 'invalid_id', 'X-Tenant is `personal` or the id of an Org.');
  return tenant;
}
