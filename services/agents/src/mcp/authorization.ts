import { NotFound } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import type {
  CompleteMcpAuthorizationRequest,
  CompleteMcpAuthorizationResponse,
} from '@commonplace/proto/agents/v1/mcp_service.js';
import type { OAuthTokens } from '@modelcontextprotocol/client';
import { ExpiredLink, McpAuthorizationFailed } from '../errors.js';
import type { McpServerRecord } from '../stores/mcp-servers.js';
import { McpFailure } from './failure.js';
import {
  authorizationId,
  beginAuthorization,
  type PendingAuthorization,
  type StartedAuthorization,
  storeAuthorization,
} from './oauth.js';
import type { McpParts } from './parts.js';
import { unseal } from './secrets.js';
import { redeemCode, storeGrant } from './tokens.js';

/**
 * The answers of authorization servers, by request. A handler may run again, and must neither register a second client
 * nor use a code twice.
 */
const begun = new WeakMap<object, Promise<StartedAuthorization | McpFailure>>();
const redeemed = new WeakMap<object, Promise<OAuthTokens | McpFailure>>();

const caught = (error: unknown): McpFailure => {
  if (error instanceof McpFailure) return error;
  throw error;
};

/**
 * Begins an authorization of a server by the caller. Returns the URL of the page where the caller grants it, which is
 * valid for ten minutes and for the caller only, or the failure.
 */
export async function askOwner(
  parts: McpParts,
  request: object,
  server: McpServerRecord,
  context: CallContext,
): Promise<string | McpFailure> {
  const asked = begun.get(request) ?? beginAuthorization(parts, server).catch(caught);
  begun.set(request, asked);
  const outcome = await asked;
  if (outcome instanceof McpFailure) return outcome;
  const { userId, credential } = context.caller;
  const sessionId = credential.type === 'session' ? credential.id : undefined;
  storeAuthorization(parts, context.work, server, outcome, { userId, sessionId });
  context.once('authorizeUrl');
  return outcome.url;
}

/**
 * Completes an authorization with the parameters that the authorization server added to the redirect. Throws
 * `expired_link` unless the same person, in the same session, began it.
 */
export async function completeAuthorization(
  parts: McpParts,
  request: CompleteMcpAuthorizationRequest,
  context: CallContext,
): Promise<CompleteMcpAuthorizationResponse> {
  const { caller, work } = context;
  const authorization = await work.get(parts.mcpAuthorizations, authorizationId(request.state));
  const isTheirs =
    authorization?.userId === caller.userId &&
    (authorization.sessionId === undefined || authorization.sessionId === caller.credential.id);
  if (authorization === undefined || !isTheirs || authorization.expiresAt <= new Date().toISOString()) {
    throw ExpiredLink();
  }
  const server = await work.get(parts.mcpServers, authorization.serverId);
  const agent = server && (await work.get(parts.agents, server.agentId));
  if (server === undefined || agent === undefined) throw NotFound();
  if (request.error !== '' || request.code === '') throw McpAuthorizationFailed({ why: errorCode(request.error) });
  const pending = unseal<PendingAuthorization>(parts.envelope, authorization, authorization.sealed);
  const code = { code: request.code, iss: request.iss === '' ? undefined : request.iss };
  const asked = redeemed.get(request) ?? redeemCode(parts, server, pending, code).catch(caught);
  redeemed.set(request, asked);
  const tokens = await asked;
  if (tokens instanceof McpFailure) throw McpAuthorizationFailed({ why: tokens.message });
  work.remove(parts.mcpAuthorizations, authorization);
  await storeGrant(parts, work, server, caller.userId, pending, tokens);
  if (agent.ownerId === caller.userId && server.isActive) {
    const probeAt = new Date().toISOString();
    const change = { status: 'unverified', lastError: undefined, revision: server.revision + 1, probeAt } as const;
    work.replace(parts.mcpServers, server, { ...server, ...change });
  }
  return { agentId: agent.id, agentName: agent.name, serverName: server.name };
}

/** Returns the error code of an OAuth response if it is short and plain; other texts are not shown to people. */
const errorCode = (error: string): string => (/^[a-z_]{1,40}$/.test(error) ? error : 'no code');
