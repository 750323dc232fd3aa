import { type Caller, defaultOrgId, reachesWorkspace } from '@commonplace/kit/auth';
import { NotFound, TenantBoundary } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import type { Where } from '@commonplace/kit/store';
import type { Parts } from './parts.js';
import { inboxOf, type Notification } from './stores/notifications.js';

/** The part of a person's notifications that a credential reaches. */
export type Reach = Where<Notification> & { readonly inbox: string };

/**
 * The caller's own notifications in the credential's tenant, or in that of a workspace they are in. A
 * credential for certain workspaces sees theirs alone. Throws NotFound, or TenantBoundary.
 */
export async function reachOf(parts: Parts, context: CallContext, workspaceId?: string): Promise<Reach> {
  const { caller } = context;
  const named = workspaceId ?? caller.workspaceId;
  const orgId = named === undefined ? defaultOrgId(caller) : await tenantOf(parts, context, named);
  const inbox = inboxOf(caller.userId, orgId ?? undefined);
  if (named !== undefined) return { inbox, workspaceId: named };
  const only = caller.credential.workspaceIds;
  return only === undefined ? { inbox } : { inbox, workspaceId: { in: only } };
}

/** The Org of a workspace that the caller is in; null where it is Personal. */
async function tenantOf({ memberships }: Parts, context: CallContext, workspaceId: string): Promise<string | null> {
  const { caller } = context;
  const known = await memberships.of(caller.userId, context.onward);
  const person = known.workspaces.has(workspaceId) ? known : await memberships.fresh(caller.userId, context.onward);
  const membership = person.workspaces.get(workspaceId);
  if (membership === undefined) throw NotFound({}, { param: 'workspace_id' });
  const orgId = membership.orgId || null;
  if (!reachesWorkspace(caller, workspaceId, orgId)) throw TenantBoundary();
  return orgId;
}

/** Whether a notification is within what a credential reaches. */
export function isWithin({ inbox }: Reach, notification: Notification, { credential, workspaceId }: Caller): boolean {
  const at = notification.workspaceId;
  return (
    notification.inbox === inbox &&
    (workspaceId === undefined || workspaceId === at) &&
    (credential.workspaceIds === undefined || (at !== undefined && credential.workspaceIds.includes(at)))
  );
}
