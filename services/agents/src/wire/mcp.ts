import { jsonBytes } from '@commonplace/kit/json';
import { valuesByName } from '@commonplace/platform/enums';
import {
  McpAuthType,
  McpServer,
  McpStatus,
  McpToolChange,
  McpTransport,
} from '@commonplace/proto/agents/v1/mcp_server.js';
import { pendingTools } from '../mcp/tool-list.js';
import type { McpServerRecord, McpToolRecord } from '../stores/mcp-servers.js';

/** The parts of a server's message that are not in its record. */
interface McpServerView {
  /** Whether the owner has authorized. */
  readonly isGranted: boolean;
  readonly authorizeUrl?: string | undefined;
}

/** Returns a server for the owner of its agent, without secrets. */
export function mcpServerMessage(server: McpServerRecord, { isGranted, authorizeUrl }: McpServerView): McpServer {
  const { auth, allowedTools } = server;
  return {
    ...namesMessage(server),
    url: server.url,
    transport: server.transport === 'sse' ? McpTransport.SSE : McpTransport.STREAMABLE_HTTP,
    auth: {
      type: AUTH_TYPES[auth.type],
      headerName: auth.headerName,
      clientId: auth.clientId,
      scopes: [...auth.scopes],
      isSet: server.auth.hasSecret || isGranted,
    },
    headerNames: [...server.headerNames],
    allowedTools: allowedTools === undefined ? undefined : { items: [...allowedTools] },
    blockedTools: [...server.blockedTools],
    requireApproval: jsonBytes(server.requireApproval),
    readOnlyTools: [...server.readOnlyTools],
    idempotentTools: [...server.idempotentTools],
    timeoutMs: server.timeoutMs,
    isActive: server.isActive,
    perUserAuth: server.perUserAuth,
    lastError: server.lastError,
    protocolVersion: server.protocolVersion,
    tools: server.tools.map(toolMessage),
    pendingTools: pendingTools(server).map(({ name, change, diff }) => ({ name, change: CHANGES[change], diff })),
    toolsUpdatedAt: server.toolsUpdatedAt,
    createdAt: server.createdAt,
    authorizeUrl,
    version: server.version,
  };
}

/** Returns a server for other people who may use its agent: its name, its status and the names of its tools. */
export function namesMessage({ id, name, isActive, perUserAuth, status, tools, version }: McpServerRecord): McpServer {
  return McpServer.fromPartial({
    ...{ id, name, isActive, perUserAuth, version },
    status: STATES[status],
    tools: tools.map(({ name }) => ({ name })),
  });
}

const toolMessage = ({ name, description, inputSchema, annotations, hash }: McpToolRecord) => ({
  ...{ name, description, hash },
  inputSchema: jsonBytes(inputSchema),
  annotations: jsonBytes(annotations),
});

const AUTH_TYPES = valuesByName(McpAuthType);

const STATES = valuesByName(McpStatus);

const CHANGES = valuesByName(McpToolChange);
