import { type Caller, credentialOutOfScope, defaultOrgId, reachesWorkspace } from '@commonplace/kit/auth';
import { NotFound } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import type { Collection, Where } from '@commonplace/kit/store';
import type { MembershipCache, PersonMemberships } from '@commonplace/platform/memberships';
import { inboxOf, type Notification } from './records.js';

/** The filter for those notifications of a person that a credential reaches. */
export type Reach = Where<Notification> & { readonly inbox: string };

interface ReachParts {
  readonly memberships: MembershipCache;
  readonly notifications: Collection<Notification>;
}

/**
 * Returns the filter for the caller's own notifications in the credential's tenant or in the given workspace. A
 * credential limited to workspaces sees only notifications of these. Throws NotFound, TenantBoundary or another error
 * for what the credential does not reach.
 */
export async function reachOf(parts: ReachParts, context: CallContext, workspaceId?: string): Promise<Reach> {
  const { caller } = context;
  const named = workspaceId ?? caller.workspaceId;
  const orgId = named === undefined ? defaultOrgId(caller) : await tenantOf(parts, context, named);
  const inbox = inboxOf(caller.userId, orgId ?? undefined);
  if (named !== undefined) return { inbox, workspaceId: named };
  const only = caller.credential.workspaceIds;
  return only === undefined ? { inbox } : { inbox, workspaceId: { in: only } };
}

/**
 * Returns the Org of a workspace that the caller is in, or has notifications of; null if it is Personal. Throws NotFound,
 * or an error if the credential does not reach the workspace.
 */
async function tenantOf(parts: ReachParts, context: CallContext, workspaceId: string): Promise<string | null> {
  const { caller } = context;
  const { memberships } = parts;
  const known = await memberships.of(caller.userId, context.onward);
  const person = known.workspaces.has(workspaceId) ? known : await memberships.fresh(caller.userId, context.onward);
  const membership = person.workspaces.get(workspaceId);
  const orgId = membership === undefined ? await notifiedIn(parts, workspaceId, person) : membership.orgId || null;
  if (orgId === undefined) throw NotFound({}, { param: 'workspace_id' });
  if (!reachesWorkspace(caller, workspaceId, orgId)) throw credentialOutOfScope(caller, orgId);
  return orgId;
}

/**
 * Returns the Org in which a person has notifications of a workspace, null for the Personal tenant, undefined for none.
 * People with whom single resources are shared have some without being members.
 */
async function notifiedIn({ notifications }: ReachParts, workspaceId: string, { userId, orgs }: PersonMemberships) {
  const inboxes = new Map([null, ...orgs.keys()].map((orgId) => [inboxOf(userId, orgId ?? undefined), orgId]));
  const where = { inbox: { in: [...inboxes.keys()] }, workspaceId };
  const [found] = await notifications.find({ where, limit: 1 });
  return found && inboxes.get(found.inbox);
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
