import type { McpServerRecord } from '../stores/mcp-servers.js';
import type { McpAccess } from './client.js';
import type { McpParts } from './parts.js';
import { headersOf, secretsOf } from './secrets.js';
import { accessToken, grantOf } from './tokens.js';

/**
 * Returns the access to a server on behalf of a person, with the person's grant if the server uses OAuth. Returns
 * undefined if the person has no valid grant. The person's credentials for this system are never passed on.
 */
export async function accessFor(
  parts: McpParts,
  server: McpServerRecord,
  userId: string,
  signal: AbortSignal,
): Promise<McpAccess | undefined> {
  const headers = headersOf(server, secretsOf(parts.envelope, server));
  const guard = await parts.mcpGuard.of(server.tenant);
  if (server.auth.type !== 'oauth2') return { guard, headers };
  const grant = await grantOf(parts, server, userId);
  if (grant === undefined) return undefined;
  return { guard, headers, token: (rejected) => accessToken(parts, grant.id, rejected, signal) };
}
