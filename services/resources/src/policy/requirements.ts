import { type Caller, credentialOutOfScope, reachesWorkspace } from '@commonplace/kit/auth';
import { InsufficientRole, NotFound } from '@commonplace/kit/errors';
import { enumName } from '@commonplace/platform/enums';
import { isWorkspaceRoleAtLeast } from '@commonplace/platform/memberships';
import type { WorkspaceMembership } from '@commonplace/proto/tenancy/v1/directory_service.js';
import type { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import type { Node } from '../domain/node.js';
import { type Capability, MIN_ROLE, may } from '../domain/role.js';
import { ResourceLocked, WorkspaceArchived } from '../errors.js';
import type { AccessSubject, BlockedBy, Seen } from './port.js';

/**
 * Returns the error for an id that does not exist, after the same work as for a node that the caller cannot see, so
 * that the response time does not reveal whether the node exists.
 */
export async function notFound(subject: AccessSubject): Promise<Error> {
  await subject.refresh();
  return NotFound();
}

/**
 * Throws the tenant boundary error if the caller's credential does not reach the workspace of a node that they can see.
 */
export function requireReach(caller: Caller, { workspaceId, orgId }: Pick<Node, 'workspaceId' | 'orgId'>): void {
  if (!reachesWorkspace(caller, workspaceId, orgId)) throw credentialOutOfScope(caller, orgId);
}

/** Throws InsufficientRole if the caller's role on a node does not include a capability. */
export function requireCapability(seen: Seen, capability: Capability): void {
  if (!may(seen.access.role, capability)) {
    throw InsufficientRole({ role: seen.access.role, needed: MIN_ROLE[capability] });
  }
}

/** Throws InsufficientRole if a workspace role is below `minRole`. */
export function requireWorkspaceRole(membership: WorkspaceMembership, minRole: WorkspaceRole): void {
  if (!isWorkspaceRoleAtLeast(membership.role, minRole)) {
    throw InsufficientRole({
      role: enumName(membership.role, 'WORKSPACE_ROLE'),
      needed: enumName(minRole, 'WORKSPACE_ROLE'),
    });
  }
}

/** Returns the state that prevents all writes to a node, whatever their role; undefined without one. */
export function blockedBy(seen: Pick<Seen, 'node' | 'membership'>): BlockedBy | undefined {
  if (seen.node.state === 'trashed') return 'trashed';
  if (seen.membership?.archived) return 'archived';
  return seen.node.locked ? 'locked' : undefined;
}

/** Throws if the workspace is archived or the node is locked; `unlocks` permits the write that removes the lock. */
export function requireWritable(seen: Seen, unlocks = false): void {
  const blocked = blockedBy(seen);
  if (blocked === 'archived') throw WorkspaceArchived();
  if (blocked === 'locked' && !unlocks) throw ResourceLocked();
}
