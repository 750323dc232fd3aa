import { NotFound } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import { inWork, LostRace, type UnitOfWork } from '@commonplace/kit/store';
import type {
  CompleteMcpAuthorizationRequest,
  CompleteMcpAuthorizationResponse,
} from '@commonplace/proto/agents/v1/mcp_service.js';
import type { OAuthTokens } from '@modelcontextprotocol/client';
import { ExpiredLink, McpAuthorizationFailed } from '../errors.js';
import type { AgentRecord } from '../stores/agents.js';
import type { McpAuthorizationRecord, McpServerRecord } from '../stores/mcp-servers.js';
import { McpFailure } from './failure.js';
import { TOKEN_MS } from './limits.js';
import {
  authorizationId,
  beginAuthorization,
  type PendingAuthorization,
  type StartedAuthorization,
  storeAuthorization,
} from './oauth.js';
import type { McpParts } from './parts.js';
import { unseal } from './secrets.js';
import { OTHER_SERVER, redeemCode, storeGrant } from './tokens.js';

/**
 * The answers of authorization servers, by request. A handler may run again, and must neither register a second client
 * nor use a code twice.
 */
const begun = new WeakMap<object, Promise<StartedAuthorization | McpFailure>>();
const redeemed = new WeakMap<object, Promise<Redeemed>>();

interface Redeemed {
  readonly pending: PendingAuthorization;
  readonly tokens: OAuthTokens | McpFailure;
}

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
 * `expired_link` unless the same person, in the same session, began it, and for repeated redirects.
 */
export async function completeAuthorization(
  parts: McpParts,
  request: CompleteMcpAuthorizationRequest,
  context: CallContext,
): Promise<CompleteMcpAuthorizationResponse> {
  const { caller, work } = context;
  const asked = redeemed.get(request) ?? redeem(parts, request, caller);
  redeemed.set(request, asked);
  const { pending, tokens } = await asked;
  if (tokens instanceof McpFailure) throw McpAuthorizationFailed({ why: tokens.message });
  const authorization = await work.get(parts.mcpAuthorizations, authorizationId(request.state));
  if (authorization === undefined) throw ExpiredLink();
  const { server, agent } = await serverOf(parts, authorization, work);
  work.remove(parts.mcpAuthorizations, authorization);
  await storeGrant(parts, work, server, caller.userId, pending, tokens);
  if (agent.ownerId === caller.userId && server.isActive) {
    const probeAt = new Date().toISOString();
    const change = { status: 'unverified', lastError: undefined, revision: server.revision + 1, probeAt } as const;
    work.replace(parts.mcpServers, server, { ...server, ...change });
  }
  return { agentId: agent.id, agentName: agent.name, serverName: server.name };
}

/**
 * Exchanges the code of a redirect. It claims the authorization meanwhile, so that of repeated redirects only one sends
 * the code: servers end the grant of a code that is sent twice (RFC 6749, 4.1.2). After a failure it can be tried again.
 */
async function redeem(
  parts: McpParts,
  { state, code, iss, error, redirectKey }: CompleteMcpAuthorizationRequest,
  caller: CallContext['caller'],
): Promise<Redeemed> {
  const authorization = await parts.mcpAuthorizations.get(authorizationId(state));
  const isTheirs =
    authorization?.userId === caller.userId &&
    (authorization.sessionId === undefined || authorization.sessionId === caller.credential.id);
  const now = new Date().toISOString();
  if (authorization === undefined || !isTheirs || authorization.expiresAt <= now) throw ExpiredLink();
  const { server } = await serverOf(parts, authorization);
  if (error !== '' || code === '') throw McpAuthorizationFailed({ why: errorCode(error) });
  if ((authorization.claimedUntil ?? '') > now) throw ExpiredLink();
  const pending = unseal<PendingAuthorization>(parts.envelope, authorization, authorization.sealed);
  // The owner may have moved the server since then, where the tokens must not be sent.
  if ((pending.serverUrl ?? server.url) !== server.url) throw ExpiredLink();
  if ((pending.redirectKey ?? '') !== redirectKey) throw McpAuthorizationFailed({ why: OTHER_SERVER });
  const claimed = await claim(parts, authorization);
  const tokens = await redeemCode(parts, server, pending, { code, iss: iss === '' ? undefined : iss }).catch(caught);
  if (tokens instanceof McpFailure) await release(parts, claimed);
  return { pending, tokens };
}

/** Returns the server of an authorization and its agent. Throws NotFound. */
async function serverOf(
  { mcpServers, agents }: McpParts,
  { serverId }: McpAuthorizationRecord,
  work?: UnitOfWork,
): Promise<{ server: McpServerRecord; agent: AgentRecord }> {
  const server = await (work === undefined ? mcpServers.get(serverId) : work.get(mcpServers, serverId));
  const agentId = server?.agentId ?? '';
  const agent = server && (await (work === undefined ? agents.get(agentId) : work.get(agents, agentId)));
  if (server === undefined || agent === undefined) throw NotFound();
  return { server, agent };
}

/** Claims an authorization for one exchange. Throws `expired_link` if another request was faster. */
async function claim(
  { store, mcpAuthorizations }: McpParts,
  authorization: McpAuthorizationRecord,
): Promise<McpAuthorizationRecord> {
  const work = store.begin();
  const claimedUntil = new Date(Date.now() + TOKEN_MS).toISOString();
  const claimed = work.replace(mcpAuthorizations, authorization, { ...authorization, claimedUntil });
  await work.commit().catch((error: unknown) => {
    throw error instanceof LostRace ? ExpiredLink({}, { cause: error }) : error;
  });
  return claimed;
}

/** Ends a claim after a failure, unless the authorization has gone with its server. */
async function release({ store, mcpAuthorizations }: McpParts, { id }: McpAuthorizationRecord): Promise<void> {
  await inWork(store, async (work) => {
    const authorization = await work.get(mcpAuthorizations, id);
    if (authorization === undefined) return;
    work.replace(mcpAuthorizations, authorization, { ...authorization, claimedUntil: undefined });
  });
}

/** Returns the error code of an OAuth response if it is short and plain; other texts are not shown to people. */
const errorCode = (error: string): string => (/^[a-z_]{1,40}$/.test(error) ? error : 'no code');
