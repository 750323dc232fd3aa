import { type Caller, credentialOutOfScope, defaultOrgId, reachesWorkspace } from '@commonplace/kit/auth';
import { NotFound } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import type { Where } from '@commonplace/kit/store';
import type { MembershipCache } from '@commonplace/platform/memberships';
import { inboxOf, type Notification } from './records.js';

/** The filter for those notifications of a person that a credential reaches. */
export type Reach = Where<Notification> & { readonly inbox: string };

/**
 * Returns the filter for the caller's own notifications in the credential's tenant or in the given workspace. A
 * credential limited to workspaces sees only notifications of these. Throws NotFound, TenantBoundary or another error
 * for what the credential does not reach.
 */
export async function reachOf(
  memberships: MembershipCache,
  context: CallContext,
  workspaceId?: string,
): Promise<Reach> {
  const { caller } = context;
  const named = workspaceId ?? caller.workspaceId;
  const orgId = named === undefined ? defaultOrgId(caller) : await tenantOf(memberships, context, named);
  const inbox = inboxOf(caller.userId, orgId ?? undefined);
  if (named !== undefined) return { inbox, workspaceId: named };
  const only = caller.credential.workspaceIds;
  return only === undefined ? { inbox } : { inbox, workspaceId: { in: only } };
}

/**
 * Returns the Org of a workspace that the caller is in; null if it is Personal. Throws NotFound, or an error if the
 * credential does not reach the workspace.
 */
async function tenantOf(
  memberships: MembershipCache,
  context: CallContext,
  workspaceId: string,
): Promise<string | null> {
  const { caller } = context;
  const known = await memberships.of(caller.userId, context.onward);
  const person = known.workspaces.has(workspaceId) ? known : await memberships.fresh(caller.userId, context.onward);
  const membership = person.workspaces.get(workspaceId);
  if (membership === undefined) throw NotFound({}, { param: 'workspace_id' });
  const orgId = membership.orgId || null;
  if (!reachesWorkspace(caller, workspaceId, orgId)) throw credentialOutOfScope(caller, orgId);
  return orgId;
}

/** Returns whether a credential reaches a notification. */
export function isWithin({ inbox }: Reach, notification: Notification, { credential, workspaceId }: Caller): boolean {
  const at = notification.workspaceId;
  return (
    notification.inbox === inbox &&
    (workspaceId === undefined || workspaceId === at) &&
    (credential.workspaceIds === undefined || (at !== undefined && credential.workspaceIds.includes(at)))
  );
}
