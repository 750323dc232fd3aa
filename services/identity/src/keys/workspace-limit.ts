import { type Caller, credentialOutOfScope, reachesTenant } from '@commonplace/kit/auth';
import { NotFound } from '@commonplace/kit/errors';
import type { CallOptions } from '@commonplace/kit/rpc';
import type { Reach } from '../reach.js';

/**
 * Returns the workspaces that a new key is limited to; undefined for all of its tenant. A limited credential passes
 * on its own limit or a part of it. Throws NotFound or TenantBoundary.
 */
export async function workspaceLimit(
  requestedIds: readonly string[],
  caller: Caller,
  orgId: string | null,
  reach: Reach,
  options: CallOptions,
): Promise<readonly string[] | undefined> {
  const own = caller.credential.workspaceIds;
  if (requestedIds.length === 0) return own;
  const ids = [...new Set(requestedIds)];
  for (const id of ids) {
    const tenant = await reach.workspace(caller.userId, id, options);
    if (tenant === undefined) throw NotFound();
    if (tenant.orgId !== orgId || !reachesTenant(caller, tenant.orgId))
      throw credentialOutOfScope(caller, tenant.orgId);
    if (own?.includes(id) === false) throw credentialOutOfScope(caller);
  }
  return ids;
}
