import type { TenantGuard } from '@commonplace/kit/fetch';
import type { Log } from '@commonplace/kit/log';
import type { Envelope } from '@commonplace/kit/secrets';
import type { Collection, Store } from '@commonplace/kit/store';
import type { Settings } from '../config.js';
import type { SchemaChecks } from '../schemas/index.js';
import type { AgentRecord } from '../stores/agents.js';
import type {
  McpAuthorizationRecord,
  McpClientRecord,
  McpGrantRecord,
  McpServerRecord,
} from '../stores/mcp-servers.js';

/** The collections of MCP servers. */
interface McpRecords {
  readonly mcpServers: Collection<McpServerRecord>;
  readonly mcpGrants: Collection<McpGrantRecord>;
  readonly mcpAuthorizations: Collection<McpAuthorizationRecord>;
  readonly mcpClients: Collection<McpClientRecord>;
}

/** Dependencies for calling MCP servers. */
export interface McpParts extends McpRecords {
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
