import type { CallOptions, Client, Reply } from '@commonplace/kit/rpc';
import type { AuthService } from '@commonplace/proto/identity/v1/auth_service.js';
import type { ConnectorService } from '@commonplace/proto/tenancy/v1/connector_service.js';
import type { Context } from 'koa';
import type { EndedSessions } from '../../middleware/ended-sessions.js';
import type { SessionCookie } from './cookie.js';
import type { AuthMessages } from './messages.js';

/** What the pages and calls of `/auth` stand on. */
export interface AuthParts {
  readonly auth: Client<AuthService>;
  readonly connectors: Pick<Client<ConnectorService>, 'completeAuthorization'>;
  readonly messages: AuthMessages;
  readonly cookie: SessionCookie;
  readonly ended: EndedSessions;
  /** `https://wiki.example.com` */
  readonly publicOrigin: string;
  /** Milliseconds that a call may take. */
  readonly timeoutMs: number;
}

/** Options of a call that no caller token is behind. */
export function callOf(ctx: Context, { timeoutMs }: Pick<AuthParts, 'timeoutMs'>, reply: Reply = {}): CallOptions {
  const { requestId, traceparent } = ctx.state;
  return { metadata: { requestId, traceparent }, deadline: Date.now() + timeoutMs, reply };
}
