import type { CallContext } from '@commonplace/kit/rpc';
import type { Person } from './acts/people.js';
import type { Connection, Connector } from './stores/connectors.js';
import type { OrgMember } from './stores/org-members.js';
import type { Org } from './stores/orgs.js';
import type { WorkspaceMember } from './stores/workspace-members.js';
import type { Workspace } from './stores/workspaces.js';

type Publishing = Pick<CallContext, 'work' | 'event'>;

/** Tells of a change to an Org. */
export function publishOrg(
  context: Publishing,
  verb: 'created' | 'updated' | 'deleted' | 'restored' | 'purged',
  org: Org,
  changedFields: readonly string[] = [],
): void {
  const data = { orgId: org.id, changedFields: [...changedFields], version: org.version };
  context.work.publish(context.event(`org.${verb}`, org.id, data, org.tenant));
}

/** What a person does who is not behind the call: identity says for them that they take up an invitation. */
export function publishingAs({ userId, name }: Person, context: Publishing): Publishing {
  return {
    work: context.work,
    event: (...about) => ({ ...context.event(...about), actor: { type: 'user', id: userId, name } }),
  };
}

/** Tells of a place in an Org; events of one Org keep their order. */
export function publishOrgMember(
  context: Publishing,
  verb: 'added' | 'updated' | 'removed',
  member: OrgMember,
  { transferToUserId = '', joined = false }: { transferToUserId?: string; joined?: boolean } = {},
): void {
  const { id, orgId, role, status, invitedBy: addedByUserId = '' } = member;
  // Who is only invited is nobody yet.
  const userId = status === 'invited' ? '' : (member.userId ?? '');
  const data = { orgId, memberId: id, userId, role, status, transferToUserId, addedByUserId, joined };
  context.work.publish(context.event(`org_member.${verb}`, orgId, data, member.tenant));
}

/** Tells of a change to a workspace. */
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

/** Tells of a person's place in a workspace; events of one workspace keep their order. */
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

/** Tells of a connector; nothing of what opens it. */
export function publishConnector(context: Publishing, verb: 'created' | 'deleted', connector: Connector): void {
  const { id, workspaceId, type, tenant } = connector;
  context.work.publish(context.event(`connector.${verb}`, id, { workspaceId, connectorId: id, type }, tenant));
}

/** Tells of somebody's connection. */
export function publishConnection(context: Publishing, verb: 'created' | 'deleted', connection: Connection): void {
  const { id, workspaceId, connectorId, userId, tenant } = connection;
  const data = { workspaceId, connectorId, connectionId: id, userId };
  context.work.publish(context.event(`connection.${verb}`, id, data, tenant));
}
