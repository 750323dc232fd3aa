import type { EndedSessions } from '@commonplace/kit/http';
import type { CallOptions, Client, Reply } from '@commonplace/kit/rpc';
import type { McpService } from '@commonplace/proto/agents/v1/mcp_service.js';
import type { AccountSecurityService } from '@commonplace/proto/identity/v1/account_security_service.js';
import type { ApiKeyService } from '@commonplace/proto/identity/v1/api_key_service.js';
import type { AuthService } from '@commonplace/proto/identity/v1/auth_service.js';
import type { ConnectorService } from '@commonplace/proto/tenancy/v1/connector_service.js';
import type { DirectoryService } from '@commonplace/proto/tenancy/v1/directory_service.js';
import type { Context } from 'koa';
import type { SessionCookie } from './cookie.js';
import type { AuthMessages } from './messages.js';

/** Dependencies of the pages and calls of `/auth`. */
export interface AuthParts {
  readonly auth: Client<AuthService>;
  readonly security: Client<AccountSecurityService>;
  readonly apiKeys: Client<ApiKeyService>;
  readonly connectors: Pick<Client<ConnectorService>, 'completeAuthorization'>;
  readonly mcpServers: Pick<Client<McpService>, 'completeMcpAuthorization'>;
  readonly invitations: Pick<Client<DirectoryService>, 'describeInvitation'>;
  readonly messages: AuthMessages;
  readonly cookie: SessionCookie;
  readonly ended: EndedSessions;
  /** URL by which people reach this server. */
  readonly publicUrl: string;
  /** Origin of the server, such as `https://wiki.example.com`. */
  readonly publicOrigin: string;
  /** Timeout of a call in milliseconds. */
  readonly timeoutMs: number;
}

/** Returns the options of a call without a caller token. */
export function callOf(ctx: Context, { timeoutMs }: Pick<AuthParts, 'timeoutMs'>, reply: Reply = {}): CallOptions {
  const { requestId, traceparent } = ctx.state;
  return { metadata: { requestId, traceparent }, deadline: Date.now() + timeoutMs, reply };
}

const MAX_USER_AGENT_LENGTH = 512;

/** Returns the client address and user agent, which identity stores with a new session. */
export function originOf(ctx: Context): { clientIp: string; userAgent: string } {
  return { clientIp: ctx.state.clientIp, userAgent: ctx.get('User-Agent').slice(0, MAX_USER_AGENT_LENGTH) };
}
