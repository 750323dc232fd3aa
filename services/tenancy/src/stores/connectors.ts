import type { Actor } from '@commonplace/kit/auth';
import type { Collection, CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import type { AuthType, ConnectorType } from '../domain/connector-terms.js';
import { findAllWhere, findOne } from './all.js';

/** A link from a workspace to an external system. */
export interface Connector extends StoredRecord {
  readonly tenant: string;
  readonly workspaceId: string;
  readonly type: ConnectorType;
  readonly name: string;
  /** The configuration as a JSON object without secrets. */
  readonly config: string;
  readonly authType: AuthType;
  readonly status: 'pending' | 'active' | 'error' | 'disabled';
  /** The credentials as JSON, encrypted for this record. */
  readonly sealed?: string;
  readonly lastError?: string;
  readonly createdBy: Actor;
  /** The person for whom a key or an agent created it; absent in records of earlier versions. */
  readonly createdForId?: string | undefined;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export const connectorCollection: CollectionSpec<Connector> = {
  name: 'connectors',
  indexes: [{ fields: ['workspaceId'] }],
};

/** One person's account in an external system, linked through a connector. */
export interface Connection extends StoredRecord {
  readonly tenant: string;
  readonly workspaceId: string;
  readonly connectorId: string;
  readonly type: ConnectorType;
  readonly userId: string;
  /** `<connector>:<user>`: unique, so that a person has one connection per connector. */
  readonly personKey: string;
  readonly accountLabel?: string;
  readonly scopes: readonly string[];
  readonly status: 'active' | 'revoked' | 'error';
  /** The tokens as JSON, encrypted for this record. */
  readonly sealed: string;
  /** Whether the service can renew the tokens without the person. */
  readonly renewable: boolean;
  readonly connectedBy: Actor;
  readonly lastUsedAt?: string;
  readonly expiresAt?: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export const connectionCollection: CollectionSpec<Connection> = {
  name: 'connections',
  indexes: [
    { fields: ['personKey'], unique: true },
    { fields: ['workspaceId', 'userId'] },
    { fields: ['userId', 'tenant'] },
    { fields: ['connectorId'] },
  ],
};

/** A pending authorization: a person has been sent to an external system and has not come back yet. */
export interface Authorization extends StoredRecord {
  readonly tenant: string;
  readonly workspaceId: string;
  readonly connectorId: string;
  /** Id of the person who began it; no one else may complete it. */
  readonly userId: string;
  /**
   * The PKCE verifier and the nonce as JSON, encrypted for this record. The record's id is the SHA-256 of the
   * state.
   */
  readonly sealed: string;
  readonly expiresAt: string;
}

export const authorizationCollection: CollectionSpec<Authorization> = {
  name: 'authorizations',
  indexes: [{ fields: ['connectorId'] }, { fields: ['workspaceId'] }, { fields: ['expiresAt'] }],
};

export interface Connectors {
  readonly records: Collection<Connector>;
  readonly connections: Collection<Connection>;
  readonly authorizations: Collection<Authorization>;
  ofWorkspace(workspaceId: string): Promise<Connector[]>;
  /** Returns the number of connections by connector id. */
  countConnections(connectorIds: readonly string[]): Promise<Map<string, number>>;
  connectionsOf(connectorId: string): Promise<Connection[]>;
  /** Returns the connections in a workspace, or those of one person in it. */
  connectionsIn(workspaceId: string, userId?: string): Promise<Connection[]>;
  /** Returns the connections of a person in one tenant, or in all. */
  connectionsOfPerson(userId: string, tenant?: string): Promise<Connection[]>;
  connectionOfPerson(connectorId: string, userId: string): Promise<Connection | undefined>;
  authorizationsOf(connectorId: string): Promise<Authorization[]>;
}

export function connectionKey(connectorId: string, userId: string): string {
  return `${connectorId}:${userId}`;
}

export function createConnectors(
  records: Collection<Connector>,
  connections: Collection<Connection>,
  authorizations: Collection<Authorization>,
): Connectors {
  return {
    records,
    connections,
    authorizations,
    ofWorkspace: (workspaceId) => findAllWhere(records, { workspaceId }),
    countConnections: async (connectorIds) =>
      connectorIds.length === 0 ? new Map() : connections.countBy('connectorId', { connectorId: { in: connectorIds } }),
    connectionsOf: (connectorId) => findAllWhere(connections, { connectorId }),
    connectionsIn: (workspaceId, userId) =>
      findAllWhere(connections, userId === undefined ? { workspaceId } : { workspaceId, userId }),
    connectionsOfPerson: (userId, tenant) =>
      findAllWhere(connections, tenant === undefined ? { userId } : { userId, tenant }),
    connectionOfPerson: (connectorId, userId) =>
      findOne(connections, { personKey: connectionKey(connectorId, userId) }),
    authorizationsOf: (connectorId) => findAllWhere(authorizations, { connectorId }),
  };
}
