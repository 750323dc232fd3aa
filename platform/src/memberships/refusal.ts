import { credentialOutOfScope, reachesWorkspace } from '@commonplace/kit/auth';
import { AppError, InsufficientRole, NotFound } from '@commonplace/kit/errors';
import type { CallContext, Client } from '@commonplace/kit/rpc';
import type { DirectoryService, OrgMembership } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { OrgRole } from '@commonplace/proto/tenancy/v1/role.js';
import { isOrgRoleAtLeast } from './roles.js';

/**
 * Returns the error for a workspace that the caller is not a member of. Administrators of its Org learn that it exists;
 * all others get `NotFound`, which names the field of the request by `param`. Throws if the workspace cannot be looked
 * up.
 */
export async function refusalOfWorkspace(
  directory: Pick<Client<DirectoryService>, 'lookUpWorkspace'>,
  workspaceId: string,
  { orgs }: { readonly orgs: ReadonlyMap<string, OrgMembership> },
  { caller, onward }: Pick<CallContext, 'caller' | 'onward'>,
  param?: string,
): Promise<AppError> {
  const unknown = NotFound({}, param === undefined ? {} : { param });
  const administered = [...orgs.values()].filter(({ role }) => isOrgRoleAtLeast(role, OrgRole.ADMIN));
  if (administered.length === 0) return unknown;
  const found = await directory.lookUpWorkspace({ workspaceId }, onward).catch(undefinedIfMissing);
  if (found === undefined || !administered.some(({ orgId }) => orgId === found.orgId)) return unknown;
  return reachesWorkspace(caller, workspaceId, found.orgId)
    ? InsufficientRole()
    : credentialOutOfScope(caller, found.orgId);
}

function undefinedIfMissing(error: unknown): undefined {
  if (!(error instanceof AppError) || error.code !== 'NOT_FOUND') throw error;
}
