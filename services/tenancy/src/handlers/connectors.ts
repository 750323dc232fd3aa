import { NotFound } from '@commonplace/kit/errors';
import { type CallContext, type Handlers, requireVersion } from '@commonplace/kit/rpc';
import type { StoredRecord } from '@commonplace/kit/store';
import type { ConnectorService } from '@commonplace/proto/tenancy/v1/connector_service.js';
import { completeAuthorization } from '../acts/authorize.js';
import { listConnections, listConnectors } from '../acts/connector-lists.js';
import { addConnector } from '../acts/create-connector.js';
import { disconnect } from '../acts/disconnect.js';
import { workspaceRoleAtLeast } from '../domain/roles.js';
import { publishConnector } from '../events.js';
import type { Parts } from '../parts.js';
import { requireActiveWorkspace, requireWorkspaceRole } from '../policy.js';
import { toConnector } from '../wire/connector.js';

export function createConnectorHandlers(parts: Parts): Handlers<ConnectorService> {
  const { policy, connectors } = parts;

  return {
    async listConnectors(request, { caller }) {
      const access = await policy.seeWorkspace(request.workspaceId, caller);
      requireWorkspaceRole(access, 'viewer');
      return listConnectors(parts, request);
    },

    async createConnector(request, context) {
      const access = await policy.seeWorkspace(request.workspaceId, context.caller);
      requireWorkspaceRole(access, 'admin');
      const { connector, authorizeUrl } = await addConnector(parts, context, access, request);
      const counts = await connectors.countConnections([connector.id]);
      return toConnector(connector, counts.get(connector.id) ?? 0, authorizeUrl);
    },

    async deleteConnector({ workspaceId, connectorId }, context) {
      const access = await policy.seeWorkspace(workspaceId, context.caller);
      requireWorkspaceRole(access, 'admin');
      const connector = inWorkspace(await connectors.records.get(connectorId), workspaceId);
      requireVersion(context, connector.version, connector);
      requireActiveWorkspace(access.workspace);
      const connections = await connectors.connectionsOf(connectorId);
      await disconnect(parts, context, connections);
      for (const one of await connectors.authorizationsOf(connectorId)) {
        context.work.remove(connectors.authorizations, one);
      }
      context.work.remove(connectors.records, connector);
      publishConnector(context, 'deleted', connector);
      return { id: connectorId, deleted: true, connectionsRemoved: connections.length };
    },

    async listConnections(request, { caller }) {
      const access = await policy.seeWorkspace(request.workspaceId, caller);
      requireWorkspaceRole(access, 'guest');
      return listConnections(parts, request, workspaceRoleAtLeast(access.role, 'admin') ? undefined : caller.userId);
    },

    async deleteConnection({ workspaceId, connectionId }, context) {
      const access = await policy.seeWorkspace(workspaceId, context.caller);
      requireWorkspaceRole(access, 'guest');
      const connection = inWorkspace(await connectors.connections.get(connectionId), workspaceId);
      const own = connection.userId === context.caller.userId;
      // Only administrators see the connections of others.
      if (!own && !workspaceRoleAtLeast(access.role, 'admin')) throw NotFound();
      requireVersion(context, connection.version, connection);
      const revoked = await disconnect(parts, context, [connection]);
      return { id: connectionId, deleted: true, upstreamRevoked: revoked === 1 };
    },

    completeAuthorization: async (request, context: CallContext) => {
      const { connector, connection, error } = await completeAuthorization(parts, context, request);
      return {
        workspaceId: connector.workspaceId,
        connectorId: connector.id,
        connectorName: connector.name,
        connectionId: connection?.id,
        accountLabel: connection?.accountLabel,
        error,
      };
    },
  };
}

/** Returns a record of the given workspace. Throws NotFound if it is missing or in another one. */
function inWorkspace<T extends StoredRecord & { readonly workspaceId: string }>(
  record: T | undefined,
  workspaceId: string,
): T {
  if (record === undefined || record.workspaceId !== workspaceId) throw NotFound();
  return record;
}
