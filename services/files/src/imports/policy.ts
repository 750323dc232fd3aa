import { type Caller, reachesWorkspace } from '@commonplace/kit/auth';
import { InsufficientRole, NotFound, TenantBoundary } from '@commonplace/kit/errors';
import type { CallContext, Client } from '@commonplace/kit/rpc';
import type { DirectoryService, WorkspaceMembership } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { WorkspaceArchived } from './errors.js';
import type { ImportParts } from './parts.js';
import type { ImportRecord } from './stores/records.js';

export interface ImportPolicyParts extends ImportParts {
  readonly directory: Client<DirectoryService>;
}

const ADMINS: ReadonlySet<WorkspaceRole> = new Set([WorkspaceRole.ADMIN, WorkspaceRole.OWNER]);
const ORG_ADMINS: ReadonlySet<OrgRole> = new Set([OrgRole.ADMIN, OrgRole.OWNER]);

/** Whether somebody sees all imports of a workspace. */
export function seesAll({ role }: Pick<WorkspaceMembership, 'role'>): boolean {
  return ADMINS.has(role);
}

/** A workspace that the caller is in, by the rules of the tree: what they can't see is not found. */
export async function enterWorkspace(
  parts: ImportPolicyParts,
  workspaceId: string,
  context: CallContext,
): Promise<WorkspaceMembership> {
  const { caller } = context;
  const membership = await membershipOf(parts, workspaceId, context);
  if (membership !== undefined) {
    if (!reachesWorkspace(caller, workspaceId, membership.orgId || null)) throw TenantBoundary();
    return membership;
  }
  const { orgs } = await parts.memberships.of(caller.userId, context.onward);
  const administered = [...orgs.values()].filter(({ role }) => ORG_ADMINS.has(role));
  if (administered.length === 0) throw NotFound();
  const { orgId } = await parts.directory.lookUpWorkspace({ workspaceId }, context.onward);
  if (!administered.some((org) => org.orgId === orgId)) throw NotFound();
  throw reachesWorkspace(caller, workspaceId, orgId) ? InsufficientRole() : TenantBoundary();
}

/** What is remembered refuses nothing: who is no member, or what is archived, may be by now, or not. */
async function membershipOf(
  { memberships }: ImportParts,
  workspaceId: string,
  { caller, onward }: CallContext,
): Promise<WorkspaceMembership | undefined> {
  const known = (await memberships.of(caller.userId, onward)).workspaces.get(workspaceId);
  if (known?.archived === false) return known;
  return (await memberships.fresh(caller.userId, onward)).workspaces.get(workspaceId);
}

/** An import that the caller has begun, or that is in a workspace which they administer; all others are not found. */
export async function seeImport(parts: ImportPolicyParts, id: string, context: CallContext): Promise<ImportRecord> {
  const record = await context.work.get(parts.imports, id);
  if (record === undefined) throw NotFound();
  const membership = await membershipOf(parts, record.workspaceId, context);
  if (membership === undefined || !isTheirs(record, membership, context.caller)) throw NotFound();
  if (!reachesWorkspace(context.caller, record.workspaceId, record.orgId || null)) throw TenantBoundary();
  return record;
}

/** Refuses a change of what is in an archived workspace. */
export async function requireUnarchived(
  parts: ImportPolicyParts,
  { workspaceId }: ImportRecord,
  context: CallContext,
): Promise<void> {
  if ((await membershipOf(parts, workspaceId, context))?.archived) throw WorkspaceArchived();
}

function isTheirs({ userId }: ImportRecord, membership: WorkspaceMembership, caller: Caller): boolean {
  return userId === caller.userId || seesAll(membership);
}
