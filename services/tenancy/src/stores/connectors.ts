import type { Actor } from '@commonplace/kit/auth';
import type { Collection, CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import type { AuthType, ConnectorType } from '../domain/connector-terms.js';
import { findAll, findOne } from './all.js';

/** A way from a workspace to another system. */
export interface Connector extends StoredRecord {
  readonly tenant: string;
  readonly workspaceId: string;
  readonly type: ConnectorType;
  readonly name: string;
  /** A JSON object without secrets. */
  readonly config: string;
  readonly authType: AuthType;
  readonly status: 'pending' | 'active' | 'error' | 'disabled';
  /** The credentials as JSON, sealed for this record. */
  readonly sealed?: string;
  readonly lastError?: string;
  readonly createdBy: Actor;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export const connectorCollection: CollectionSpec<Connector> = {
  name: 'connectors',
  indexes: [{ fields: ['workspaceId'] }],
};

/** One person's account in another system, by a connector. */
export interface Connection extends StoredRecord {
  readonly tenant: string;
  readonly workspaceId: string;
  readonly connectorId: string;
  readonly type: ConnectorType;
  readonly userId: string;
  /** `<connector>:<user>`: one of a person and connector. */
  readonly personKey: string;
  readonly accountLabel?: string;
  readonly scopes: readonly string[];
  readonly status: 'active' | 'revoked' | 'error';
  /** The tokens as JSON, sealed for this record. */
  readonly sealed: string;
  /** Whether it can be renewed without the person. */
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

/** A person on their way to another system and back. */
export interface Authorization extends StoredRecord {
  readonly tenant: string;
  readonly workspaceId: string;
  readonly connectorId: string;
  /** Only they may come back. */
  readonly userId: string;
  /** The PKCE verifier and the nonce as JSON, sealed for this record, whose id is the SHA-256 of the state. */
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
  /** Connections, by connector. */
  countConnections(connectorIds: readonly string[]): Promise<Map<string, number>>;
  connectionsOf(connectorId: string): Promise<Connection[]>;
  /** Those of a workspace, or of one person there. */
  connectionsIn(workspaceId: string, userId?: string): Promise<Connection[]>;
  /** Those of a person in one tenant. */
  connectionsOfPerson(userId: string, tenant: string): Promise<Connection[]>;
  connectionOfPerson(connectorId: string, userId: string): Promise<Connection | undefined>;
  authorizationsOf(connectorId: string): Promise<Authorization[]>;
  authorizationsIn(workspaceId: string): Promise<Authorization[]>;
  /** Those that nobody came back from in time. */
  staleAuthorizations(now: string): Promise<Authorization[]>;
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
    ofWorkspace: (workspaceId) => findAll(records, { workspaceId }),
    countConnections: async (connectorIds) =>
      connectorIds.length === 0 ? new Map() : connections.countBy('connectorId', { connectorId: { in: connectorIds } }),
    connectionsOf: (connectorId) => findAll(connections, { connectorId }),
    connectionsIn: (workspaceId, userId) =>
      findAll(connections, userId === undefined ? { workspaceId } : { workspaceId, userId }),
    connectionsOfPerson: (userId, tenant) => findAll(connections, { userId, tenant }),
    connectionOfPerson: (connectorId, userId) =>
      findOne(connections, { personKey: connectionKey(connectorId, userId) }),
    authorizationsOf: (connectorId) => findAll(authorizations, { connectorId }),
    authorizationsIn: (workspaceId) => findAll(authorizations, { workspaceId }),
    staleAuthorizations: (now) => findAll(authorizations, { expiresAt: { lte: now } }),
  };
}
