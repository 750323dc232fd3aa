import { DEAD_INDEX, type JobRecord, type QueueSpec } from '@commonplace/kit/jobs';
import type { CollectionSpec, StoredRecord } from '@commonplace/kit/store';

export type McpState = 'unverified' | 'connected' | 'auth_required' | 'error' | 'disabled';
export type McpTransportName = 'streamable_http' | 'sse';

/** How requests to a server are authorized, without secrets. */
export interface McpAuthTerms {
  readonly type: 'none' | 'bearer' | 'header' | 'oauth2';
  readonly headerName?: string | undefined;
  /** A client that is registered at the authorization server already. */
  readonly clientId?: string | undefined;
  readonly scopes: readonly string[];
  /** Whether a token or the secret of a client is stored. */
  readonly hasSecret: boolean;
}

/** What is sealed on a server's record. */
export interface McpSecrets {
  /** Token of `bearer` or value of `header`. */
  readonly token?: string | undefined;
  readonly clientSecret?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Which tools wait for an approval; tools of neither list do. */
export type RequireApproval =
  | 'always'
  | 'never'
  | { readonly always: readonly string[]; readonly never: readonly string[] };

/** A tool as its server has described it, without text that people do not see. */
export interface McpToolRecord {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly annotations: Readonly<Record<string, unknown>>;
  /** SHA-256 of the description and the schema as the server has sent them. */
  readonly hash: string;
}

/** The era of the protocol that a server speaks, as it was found out. */
export interface McpVerdict {
  readonly kind: 'modern' | 'legacy';
  /** What a modern server has said of itself, as JSON. */
  readonly discover?: string | undefined;
  readonly at: string;
}

/** An MCP server of an agent. It is a job as well: that of calling the server and listing its tools. */
export interface McpServerRecord extends JobRecord {
  readonly tenant: string;
  readonly agentId: string;
  readonly name: string;
  /** Agent and name together, for uniqueness. */
  readonly nameKey: string;
  readonly url: string;
  readonly transport: McpTransportName;
  readonly auth: McpAuthTerms;
  /** `McpSecrets`, encrypted; absent if there are none. */
  readonly sealed?: string | undefined;
  readonly headerNames: readonly string[];
  /** All tools when absent. */
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
  /** Tools that are accepted. */
  readonly tools: readonly McpToolRecord[];
  /** Tools that are new or changed since, and wait for the owner. */
  readonly heldTools: readonly McpToolRecord[];
  /** Names of accepted tools that the server does not list any more. */
  readonly goneTools: readonly string[];
  /** Whether a first list of tools was accepted. */
  readonly hasAccepted: boolean;
  readonly toolsUpdatedAt?: string | undefined;
  /** When the list of tools is to be read anew. */
  readonly listStaleAt?: string | undefined;
  /** Failures of calls in a row. */
  readonly failureCount: number;
  /** Rises with each change of what a probe depends on, so that one that was under way then is made again. */
  readonly revision: number;
  /** When the server is to be called to list its tools. */
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

/** Tokens that a person has granted for a server. Its id is made of the server, the person, the issuer and the resource. */
export interface McpGrantRecord extends StoredRecord {
  readonly tenant: string;
  readonly serverId: string;
  readonly userId: string;
  /** The URL of the server that it was granted for. */
  readonly url: string;
  readonly issuer: string;
  readonly resource: string;
  /** `GrantSecrets`, encrypted. */
  readonly sealed: string;
  /** When the access token expires; absent if the server has not said so. */
  readonly expiresAt?: string | undefined;
  readonly renewable: boolean;
  /** The authorization server takes the refresh token no more: the person has to authorize anew. */
  readonly isRevoked: boolean;
  /** Who refreshes the tokens now, and until when nobody else does. */
  readonly refresh?: { readonly holder: string; readonly until: string } | undefined;
  readonly updatedAt: string;
}

export const mcpGrantCollection: CollectionSpec<McpGrantRecord> = {
  name: 'mcp_grants',
  indexes: [{ fields: ['serverId', 'userId'] }, { fields: ['tenant'] }],
};

/** An authorization that a person has begun. Its id is the hash of its state. */
export interface McpAuthorizationRecord extends StoredRecord {
  readonly tenant: string;
  readonly serverId: string;
  readonly userId: string;
  /** The browser session that began it; absent where another credential or a run did. */
  readonly sessionId?: string | undefined;
  /** `PendingAuthorization`, encrypted. */
  readonly sealed: string;
  readonly expiresAt: string;
}

export const mcpAuthorizationCollection: CollectionSpec<McpAuthorizationRecord> = {
  name: 'mcp_authorizations',
  indexes: [{ fields: ['expiresAt'] }, { fields: ['serverId'] }, { fields: ['tenant'] }],
  expires: 'expiresAt',
};

/** This client as an authorization server has registered it for an MCP server. Its id is made of both. */
export interface McpClientRecord extends StoredRecord {
  readonly tenant: string;
  readonly serverId: string;
  readonly issuer: string;
  /** The registration, encrypted. */
  readonly sealed: string;
  /** When the first authorization was begun that has not been completed since it was last of use. */
  readonly askedAt?: string | undefined;
  /** When it is registered anew. */
  readonly deleteAt: string;
}

export const mcpClientCollection: CollectionSpec<McpClientRecord> = {
  name: 'mcp_clients',
  indexes: [{ fields: ['serverId'] }, { fields: ['tenant'] }, { fields: ['deleteAt'] }],
  expires: 'deleteAt',
};
