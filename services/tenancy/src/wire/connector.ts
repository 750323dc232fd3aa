import { actorMessage } from '@commonplace/platform/actors';
import { enumName, enumValue } from '@commonplace/platform/enums';
import {
  type Connection as ConnectionMessage,
  ConnectionStatus,
  ConnectorAuthType,
  type Connector as ConnectorMessage,
  ConnectorStatus,
  ConnectorType as ConnectorTypeName,
} from '@commonplace/proto/tenancy/v1/connector_service.js';
import type { ConnectorType } from '../domain/connector-terms.js';
import type { Connection, Connector } from '../stores/connectors.js';

export function toConnector(connector: Connector, connectionCount: number, authorizeUrl?: string): ConnectorMessage {
  const { id, workspaceId, type, name, config, authType, status, lastError, createdBy, createdAt, version } = connector;
  return {
    id,
    workspaceId,
    type: enumValue(ConnectorTypeName, type),
    name,
    config: Buffer.from(config),
    authType: enumValue(ConnectorAuthType, authType),
    status: enumValue(ConnectorStatus, status),
    connectionCount,
    lastError,
    createdBy: actorMessage(createdBy),
    createdAt,
    version,
    authorizeUrl,
  };
}

/**
 * Returns a connection as of `now`. It counts as expired if its tokens have expired and cannot be renewed without
 * the person.
 */
export function toConnection(connection: Connection, now: string): ConnectionMessage {
  const { id, workspaceId, connectorId, type, accountLabel, scopes, connectedBy, version } = connection;
  const { lastUsedAt, expiresAt, createdAt } = connection;
  return {
    id,
    workspaceId,
    connectorId,
    connectorType: enumValue(ConnectorTypeName, type),
    accountLabel,
    scopes: [...scopes],
    status: enumValue(ConnectionStatus, statusOf(connection, now)),
    connectedBy: actorMessage(connectedBy),
    lastUsedAt,
    expiresAt,
    createdAt,
    version,
  };
}

function statusOf({ status, expiresAt, renewable }: Connection, now: string): Connection['status'] | 'expired' {
  return status === 'active' && !renewable && expiresAt !== undefined && expiresAt <= now ? 'expired' : status;
}

/** Returns a connector type as records store it. */
export function connectorTypeOf(name: ConnectorTypeName): ConnectorType {
  return enumName(name, 'CONNECTOR_TYPE') as ConnectorType;
}
