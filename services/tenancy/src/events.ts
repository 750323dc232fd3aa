import { createEvent, systemActor } from '@commonplace/kit/events';
import type { CallContext } from '@commonplace/kit/rpc';
import type { UnitOfWork } from '@commonplace/kit/store';
import type { Person } from './domain/person.js';
import type { Connection, Connector } from './stores/connectors.js';
import type { Group, GroupMember } from './stores/groups.js';
import type { OrgMember } from './stores/org-members.js';
import type { Org } from './stores/orgs.js';
import type { WorkspaceMember } from './stores/workspace-members.js';
import type { Workspace } from './stores/workspaces.js';

/** The part of a call's context that publishing takes. */
export type Publishing = Pick<CallContext, 'work' | 'event'>;

/** Returns a publishing context for background work, with the service as the actor. */
export function publishing(work: UnitOfWork): Publishing {
  return {
    work,
    event: (type, subject, data, tenant) =>
      createEvent({ service: 'tenancy', type, subject, data, tenant, actor: systemActor('tenancy') }),
  };
}

/** Publishes an event about a change to an Org. */
export function publishOrg(
  context: Publishing,
  verb: 'created' | 'updated' | 'deleted' | 'restored' | 'purged',
  org: Org,
  changedFields: readonly string[] = [],
): void {
  const data = { orgId: org.id, changedFields: [...changedFields], version: org.version };
  context.work.publish(context.event(`org.${verb}`, org.id, data, org.tenant));
}

/**
 * Returns a publishing context whose actor is `person`, for calls that another service makes on their behalf:
 * identity accepts invitations for them.
 */
export function publishingAs({ userId, name }: Person, context: Publishing): Publishing {
  return {
    work: context.work,
    event: (...about) => ({ ...context.event(...about), actor: { type: 'user', id: userId, name } }),
  };
}

/** Publishes an event about a membership of an Org. Events of one Org keep their order. */
export function publishOrgMember(
  context: Publishing,
  verb: 'added' | 'updated' | 'removed',
  member: OrgMember,
  { transferToUserId = '', joined = false }: { transferToUserId?: string; joined?: boolean } = {},
): void {
  const { id, orgId, role, status, invitedBy: addedByUserId = '' } = member;
  // The event names no user while the membership is only an invitation.
  const userId = status === 'invited' ? '' : (member.userId ?? '');
  const data = { orgId, memberId: id, userId, role, status, transferToUserId, addedByUserId, joined };
  context.work.publish(context.event(`org_member.${verb}`, orgId, data, member.tenant));
}

/** Publishes an event about a change to a workspace. */
export function publishWorkspace(
  context: Publishing,
  verb: 'created' | 'updated' | 'archived' | 'unarchived' | 'purged',
  workspace: Workspace,
  changedFields: readonly string[] = [],
): void {
  const { id, orgId = '', version, tenant } = workspace;
  const data = { workspaceId: id, orgId, changedFields: [...changedFields], version };
  context.work.publish(context.event(`workspace.${verb}`, id, data, tenant));
}

/** Publishes an event about a membership of a workspace. Events of one workspace keep their order. */
export function publishWorkspaceMember(
  context: Publishing,
  verb: 'added' | 'updated' | 'removed',
  member: WorkspaceMember,
  keepGrants = false,
): void {
  const { id, workspaceId, userId = '', role, tenant, addedBy: addedByUserId } = member;
  const data = { workspaceId, memberId: id, userId, role, keepGrants, addedByUserId };
  context.work.publish(context.event(`workspace_member.${verb}`, workspaceId, data, tenant));
}

/** Publishes an event about a change to a group. Events of one group keep their order. */
export function publishGroup(
  context: Publishing,
  verb: 'created' | 'updated' | 'deleted',
  { id, orgId, name, version, tenant }: Group,
  changedFields: readonly string[] = [],
): void {
  const data = { orgId, groupId: id, name, changedFields: [...changedFields], version };
  context.work.publish(context.event(`group.${verb}`, id, data, tenant));
}

/** Publishes an event about a person's place in a group. */
export function publishGroupMember(
  context: Publishing,
  verb: 'added' | 'removed',
  { orgId, groupId, userId, tenant }: GroupMember,
): void {
  context.work.publish(context.event(`group_member.${verb}`, groupId, { orgId, groupId, userId }, tenant));
}

/** Publishes an event about a connector. The event contains no credentials. */
export function publishConnector(context: Publishing, verb: 'created' | 'deleted', connector: Connector): void {
  const { id, workspaceId, type, tenant } = connector;
  context.work.publish(context.event(`connector.${verb}`, id, { workspaceId, connectorId: id, type }, tenant));
}

/** Publishes an event about a person's connection. */
export function publishConnection(context: Publishing, verb: 'created' | 'deleted', connection: Connection): void {
  const { id, workspaceId, connectorId, userId, tenant } = connection;
  const data = { workspaceId, connectorId, connectionId: id, userId };
  context.work.publish(context.event(`connection.${verb}`, id, data, tenant));
}
