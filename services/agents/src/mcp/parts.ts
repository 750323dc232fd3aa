import type { TenantGuard } from '@commonplace/kit/fetch';
import type { Log } from '@commonplace/kit/log';
import type { Envelope } from '@commonplace/kit/secrets';
import type { Collection, Collections, Store } from '@commonplace/kit/store';
import type { Settings } from '../config.js';
import type { SchemaChecks } from '../schemas/index.js';
import type { AgentRecord } from '../stores/agents.js';
import {
  mcpAuthorizationCollection,
  mcpClientCollection,
  mcpGrantCollection,
  mcpServerCollection,
} from '../stores/mcp-servers.js';

/** The collections of MCP servers. */
export const MCP_RECORDS = {
  mcpServers: mcpServerCollection,
  mcpGrants: mcpGrantCollection,
  mcpAuthorizations: mcpAuthorizationCollection,
  mcpClients: mcpClientCollection,
};

/** Dependencies for calling MCP servers. */
export interface McpParts extends Collections<typeof MCP_RECORDS> {
  readonly agents: Collection<AgentRecord>;
  readonly store: Store;
  readonly log: Log;
  readonly settings: Settings;
  /** Checks each URL that is called for an MCP server. */
  readonly mcpGuard: TenantGuard;
  readonly envelope: Envelope;
  /** Checks the arguments of tools. */
  readonly schemas: SchemaChecks;
}
