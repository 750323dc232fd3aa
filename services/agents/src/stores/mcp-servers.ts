import { DEAD_INDEX, type JobRecord, type QueueSpec } from '@commonplace/kit/jobs';
import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';

type McpState = 'unverified' | 'connected' | 'auth_required' | 'error' | 'disabled';
type McpTransportName = 'streamable_http' | 'sse';

/** The authorization settings of a server, without secrets. */
export interface McpAuthTerms {
  readonly type: 'none' | 'bearer' | 'header' | 'oauth2';
  readonly headerName?: string | undefined;
  /** A client that is already registered at the authorization server. */
  readonly clientId?: string | undefined;
  readonly scopes: readonly string[];
  /** Whether a token or a client secret is stored. */
  readonly hasSecret: boolean;
}

/** The encrypted part of a server's record. */
export interface McpSecrets {
  /** The token of `bearer` or the value of `header`. */
  readonly token?: string | undefined;
  readonly clientSecret?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** The tools that require an approval. Tools in neither list do. */
export type RequireApproval =
  | 'always'
  | 'never'
  | { readonly always: readonly string[]; readonly never: readonly string[] };

/** A tool as described by its server, without invisible text. */
export interface McpToolRecord {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly annotations: Readonly<Record<string, unknown>>;
  /** SHA-256 of the description and the schema as sent by the server. */
  readonly hash: string;
}

/** The detected protocol revision of a server. */
export interface McpVerdict {
  readonly kind: 'modern' | 'legacy';
  /** The self-description of a modern server, as JSON. */
  readonly discover?: string | undefined;
  readonly at: string;
}

/** An MCP server of an agent. The record is also the job that lists the server's tools. */
export interface McpServerRecord extends JobRecord {
  readonly tenant: string;
  readonly agentId: string;
  readonly name: string;
  /** Agent and name together, for uniqueness. */
  readonly nameKey: string;
  readonly url: string;
  readonly transport: McpTransportName;
  readonly auth: McpAuthTerms;
  /** The encrypted `McpSecrets`; absent if there are none. */
  readonly sealed?: string | undefined;
  readonly headerNames: readonly string[];
  /** The allowed tools; all if absent. */
  readonly allowedTools?: readonly string[] | undefined;
  readonly blockedTools: readonly string[];
  readonly requireApproval: RequireApproval;
  readonly readOnlyTools: readonly string[];
  readonly idempotentTools: readonly string[];
  readonly timeoutMs: number;
  readonly isActive: boolean;
  readonly perUserAuth: boolean;
  readonly status: McpState;
  readonly lastError?: string | undefined;
  readonly verdict?: McpVerdict | undefined;
  readonly protocolVersion?: string | undefined;
  /** The accepted tools. */
  readonly tools: readonly McpToolRecord[];
  /** New and changed tools, which wait for the owner's acceptance. */
  readonly heldTools: readonly McpToolRecord[];
  /** Names of accepted tools that the server no longer lists. */
  readonly goneTools: readonly string[];
  /** Whether the first list of tools was accepted. */
  readonly hasAccepted: boolean;
  readonly toolsUpdatedAt?: string | undefined;
  /** When the list of tools has to be read again. */
  readonly listStaleAt?: string | undefined;
  /** Number of consecutive failed calls. */
  readonly failureCount: number;
  /** Increases with each change that affects a probe, so that a probe in progress is repeated. */
  readonly revision: number;
  /** When the tools are to be listed. */
  readonly probeAt?: string | undefined;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export const mcpServerCollection: CollectionSpec<McpServerRecord> = {
  name: 'mcp_servers',
  indexes: [
    { fields: ['agentId', 'createdAt'] },
    { fields: ['nameKey'], unique: true },
    { fields: ['tenant'] },
    { fields: ['probeAt'], sparse: true },
    DEAD_INDEX,
  ],
};

export const mcpProbeQueue: QueueSpec<McpServerRecord> = {
  name: 'agents.mcp_probes',
  collection: mcpServerCollection,
  due: 'probeAt',
  describe: ({ id, agentId, tenant }) => `list of tools of MCP server ${id} of agent ${agentId} in ${tenant}`,
  keptBecause: () => 'the record is the MCP server itself',
};

export const nameKeyOf = (agentId: string, name: string): string => `${agentId}:${name}`;

/** The tokens that a person has granted for a server. The id is derived from server, person, issuer and resource. */
export interface McpGrantRecord extends StoredRecord {
  readonly tenant: string;
  readonly serverId: string;
  readonly userId: string;
  /** The URL of the server when the grant was given. */
  readonly url: string;
  readonly issuer: string;
  readonly resource: string;
  /** The encrypted `GrantSecrets`. */
  readonly sealed: string;
  /** When the access token expires; absent if unknown. */
  readonly expiresAt?: string | undefined;
  readonly renewable: boolean;
  /** Whether the refresh token is no longer valid, so that the person has to authorize again. */
  readonly isRevoked: boolean;
  /** The lease for refreshing the tokens. */
  readonly refresh?: { readonly holder: string; readonly until: string } | undefined;
  /** When the person gave the grant; absent in grants of earlier versions. */
  readonly grantedAt?: string;
  readonly updatedAt: string;
}

export const mcpGrantCollection: CollectionSpec<McpGrantRecord> = {
  name: 'mcp_grants',
  indexes: [{ fields: ['serverId', 'userId'] }, { fields: ['userId'] }, { fields: ['tenant'] }],
};

/** A pending authorization by a person. Its id is the hash of its state. */
export interface McpAuthorizationRecord extends StoredRecord {
  readonly tenant: string;
  readonly serverId: string;
  readonly userId: string;
  /** The browser session that began it; absent if another credential or a run did. */
  readonly sessionId?: string | undefined;
  /** The encrypted `PendingAuthorization`. */
  readonly sealed: string;
  /** Until when a request exchanges the code; absent if none does. */
  readonly claimedUntil?: string | undefined;
  readonly expiresAt: string;
}

export const mcpAuthorizationCollection: CollectionSpec<McpAuthorizationRecord> = {
  name: 'mcp_authorizations',
  indexes: [{ fields: ['expiresAt'] }, { fields: ['serverId'] }, { fields: ['tenant'] }],
  expires: 'expiresAt',
};

/** The registration of this client at an authorization server, for one MCP server. */
export interface McpClientRecord extends StoredRecord {
  readonly tenant: string;
  readonly serverId: string;
  readonly issuer: string;
  /** The encrypted registration. */
  readonly sealed: string;
  /** When the first authorization was begun that is still not completed. */
  readonly askedAt?: string | undefined;
  /** When the registration is replaced. */
  readonly deleteAt: string;
}

export const mcpClientCollection: CollectionSpec<McpClientRecord> = {
  name: 'mcp_clients',
  indexes: [{ fields: ['serverId'] }, { fields: ['tenant'] }, { fields: ['deleteAt'] }],
  expires: 'deleteAt',
};
