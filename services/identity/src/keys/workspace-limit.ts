import { type Caller, reachesTenant } from '@commonplace/kit/auth';
import { NotFound, TenantBoundary } from '@commonplace/kit/errors';
import type { CallOptions } from '@commonplace/kit/rpc';
import type { Reach } from '../reach.js';

/**
 * The workspaces that a key is limited to; absent for all of its tenant. A credential that is limited
 * itself makes keys with its own limit or a part of it.
 */
export async function workspaceLimit(
  asked: readonly string[],
  caller: Caller,
  orgId: string | null,
  reach: Reach,
  options: CallOptions,
): Promise<readonly string[] | undefined> {
  const own = caller.credential.workspaceIds;
  if (asked.length === 0) return own;
  const ids = [...new Set(asked)];
  for (const id of ids) {
    const tenant = await reach.workspace(caller.userId, id, options);
    if (tenant === undefined) throw NotFound();
    if (tenant.orgId !== orgId || !reachesTenant(caller, tenant.orgId)) throw TenantBoundary();
    if (own?.includes(id) === false) throw TenantBoundary();
  }
  return ids;
}
