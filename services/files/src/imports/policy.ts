import { type Caller, credentialOutOfScope, reachesWorkspace } from '@commonplace/kit/auth';
import { NotFound, WorkspaceArchived } from '@commonplace/kit/errors';
import type { EventBus } from '@commonplace/kit/events';
import type { CallContext } from '@commonplace/kit/rpc';
import { isWorkspaceRoleAtLeast, refusalOfWorkspace, sharedWith } from '@commonplace/platform/memberships';
import type { WorkspaceMembership } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import type { ImportParts } from './parts.js';
import type { ImportRecord } from './stores/records.js';

export interface ImportPolicyParts extends ImportParts {
  readonly bus: Pick<EventBus, 'listen'>;
}

/** Returns whether a member of a workspace sees all of its imports. */
export function seesAll({ role }: Pick<WorkspaceMembership, 'role'>): boolean {
  return isWorkspaceRoleAtLeast(role, WorkspaceRole.ADMIN);
}

/**
 * Returns the caller's membership of a workspace. Throws `NotFound` when they may not know of it, and
 * `InsufficientRole` when they administer its Org without being a member.
 */
export async function enterWorkspace(
  parts: ImportPolicyParts,
  workspaceId: string,
  context: CallContext,
): Promise<WorkspaceMembership> {
  const { caller } = context;
  const membership = await membershipOf(parts, workspaceId, context);
  if (membership === undefined) {
    const person = await parts.memberships.of(caller.userId, context.onward);
    throw await refusalOfWorkspace(parts.directory, workspaceId, person, context);
  }
  requireReach(caller, workspaceId, membership.orgId);
  return membership;
}

/**
 * Refuses a workspace that the caller sees but that their credential does not reach. `orgId` is empty for a Personal
 * workspace.
 */
function requireReach(caller: Caller, workspaceId: string, orgId: string): void {
  if (!reachesWorkspace(caller, workspaceId, orgId || null)) throw credentialOutOfScope(caller, orgId || null);
}

/**
 * Returns the caller's membership of a workspace. The cache is never trusted for a refusal: when it has no membership
 * or an archived workspace, the membership is read again.
 */
async function membershipOf(
  { memberships }: Pick<ImportParts, 'memberships'>,
  workspaceId: string,
  { caller, onward }: CallContext,
): Promise<WorkspaceMembership | undefined> {
  const { userId, agent } = caller;
  const known = sharedWith(await memberships.of(userId, onward), agent).workspaces.get(workspaceId);
  if (known?.archived === false) return known;
  return sharedWith(await memberships.fresh(userId, onward), agent).workspaces.get(workspaceId);
}

/** Returns an import that the caller began or whose workspace they administer. Throws `NotFound` for all others. */
export async function seeImport(parts: ImportPolicyParts, id: string, context: CallContext): Promise<ImportRecord> {
  const record = await context.work.get(parts.imports, id);
  // Looks up a membership for missing imports too, so that the response time does not reveal which imports exist.
  const membership = await membershipOf(parts, record?.workspaceId ?? id, context);
  if (record === undefined || membership === undefined || !isTheirs(record, membership, context.caller))
    throw NotFound();
  requireReach(context.caller, record.workspaceId, record.orgId);
  return record;
}

/** Throws when the workspace of an import is archived. */
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
