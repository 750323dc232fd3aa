import { invalidField, LimitReached, NotFound, NoUpdateField } from '@commonplace/kit/errors';
import { newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import { replaceChanged } from '@commonplace/kit/store';
import type { CreateMcpServerRequest, UpdateMcpServerRequest } from '@commonplace/proto/agents/v1/mcp_service.js';
import { McpAuthRequired, MissingTarget, NameTaken, SecretReentryRequired } from '../errors.js';
import type { AgentRecord } from '../stores/agents.js';
import { type McpSecrets, type McpServerRecord, nameKeyOf } from '../stores/mcp-servers.js';
import { askOwner } from './authorization.js';
import { type ReadAuth, readAcceptTools, readAuth, readHeaders, readTerms, readUrl } from './input.js';
import { CALL_MS } from './limits.js';
import { serverNameOf } from './names.js';
import type { McpParts } from './parts.js';
import { seal, secretsOf } from './secrets.js';
import { acceptTools } from './tool-list.js';

interface Changed {
  readonly server: McpServerRecord;
  readonly authorizeUrl?: string | undefined;
}

/** Adds a server to an agent. A job then lists its tools, unless the owner has to authorize first. */
export async function addServer(
  parts: McpParts,
  agent: AgentRecord,
  request: CreateMcpServerRequest,
  context: CallContext,
): Promise<Changed> {
  const { mcpServers, agents, settings } = parts;
  const url = readUrl(await parts.mcpGuard.of(agent.tenant), request.url);
  const auth = readAuth(request.auth);
  const headers = readHeaders(request.headers);
  const { agentId: _, name: given, ...input } = request;
  const name = given ?? serverNameOf(new URL(url));
  await requireFreeName(parts, agent.id, name);
  const limit = settings.mcpServers;
  if (agent.mcpServerCount >= limit) throw LimitReached({ limit, what: 'MCP servers of one agent' });
  const now = new Date().toISOString();
  const id = newId();
  const server: Omit<McpServerRecord, 'version'> = {
    ...{ id, tenant: agent.tenant, agentId: agent.id, name, nameKey: nameKeyOf(agent.id, name), url },
    ...NEW_SERVER,
    ...readTerms(input, () => true),
    auth: auth.terms,
    ...sealedFields(parts, { id, tenant: agent.tenant }, { ...auth.secrets, headers }),
    isActive: request.isActive ?? true,
    status: request.isActive === false ? 'disabled' : 'unverified',
    ...{ createdAt: now, updatedAt: now, probeAt: request.isActive === false ? undefined : now },
  };
  const { changed, authorizeUrl } = await begin(parts, request, { ...server, version: 1 }, context);
  const { version: __, ...record } = changed;
  context.work.replace(agents, agent, { ...agent, mcpServerCount: agent.mcpServerCount + 1 });
  return { server: context.work.insert(mcpServers, record), authorizeUrl };
}

const NEW_SERVER = {
  timeoutMs: CALL_MS,
  perUserAuth: false,
  transport: 'streamable_http',
  requireApproval: 'always',
  blockedTools: [],
  readOnlyTools: [],
  idempotentTools: [],
  tools: [],
  heldTools: [],
  goneTools: [],
  hasAccepted: false,
  failureCount: 0,
  revision: 1,
} as const;

/** Changes the settings of a server, and resets what depends on them. */
export async function changeServer(
  parts: McpParts,
  before: McpServerRecord,
  request: UpdateMcpServerRequest,
  context: CallContext,
): Promise<Changed> {
  const mask = new Set(request.updateMask ?? []);
  for (const selector of ['server_id', 'name']) mask.delete(selector);
  if (mask.size === 0) throw NoUpdateField();
  const isSet = (name: string) => mask.has(name);
  const name = request.newName ?? before.name;
  if (name !== before.name) await requireFreeName(parts, before.agentId, name);
  const guard = await parts.mcpGuard.of(before.tenant);
  const url = request.url === undefined ? before.url : readUrl(guard, request.url);
  const credentials = credentialsAfter(parts, before, request, { url, isSet });
  const needsGrant = isSet('auth') || url !== before.url || request.reauthorize === true;
  if (request.refresh === true && before.status === 'auth_required' && !needsGrant) throw McpAuthRequired({ name });
  const isCalledAnew = CALLING.some(isSet) || request.refresh === true || isReactivated(before, request);
  let server: McpServerRecord = {
    ...before,
    ...{ name, nameKey: nameKeyOf(before.agentId, name), url },
    ...readTerms(request, isSet),
    ...credentials,
    updatedAt: new Date().toISOString(),
  };
  if (isSet('accept_tools')) server = { ...server, ...acceptTools(server, readAcceptTools(request.acceptTools)) };
  if (url !== before.url || isSet('auth') || isSet('transport')) server = { ...server, verdict: undefined };
  if (request.isActive === false) server = { ...server, isActive: false, status: 'disabled', probeAt: undefined };
  if (isReactivated(before, request)) server = { ...server, isActive: true };
  if (isCalledAnew && server.isActive) {
    const status = isReactivated(before, request) || CALLING.some(isSet) ? 'unverified' : server.status;
    server = { ...server, status, failureCount: 0, revision: server.revision + 1, probeAt: new Date().toISOString() };
  }
  if (needsGrant) await removeGrants(parts, server, context);
  const { changed, authorizeUrl } = needsGrant
    ? await begin(parts, request, server, context)
    : { changed: server, authorizeUrl: undefined };
  return { server: replaceChanged(context.work, parts.mcpServers, before, changed), authorizeUrl };
}

/** Fields whose change requires a new call of the server. */
const CALLING = ['url', 'auth', 'headers', 'transport'];

const isReactivated = ({ isActive }: McpServerRecord, request: UpdateMcpServerRequest): boolean =>
  request.isActive === true && !isActive;

/**
 * Returns the credentials after a change. Stored credentials are never sent to another origin, since the person who
 * changes the URL may not know them. Throws `SecretReentryRequired`.
 */
function credentialsAfter(
  parts: McpParts,
  before: McpServerRecord,
  request: UpdateMcpServerRequest,
  { url, isSet }: { readonly url: string; readonly isSet: (name: string) => boolean },
): Pick<McpServerRecord, 'auth'> & Partial<McpServerRecord> {
  const hasMoved = new URL(url).origin !== new URL(before.url).origin;
  const hasSecret = before.auth.hasSecret;
  if (hasMoved && ((hasSecret && !isSet('auth')) || (before.headerNames.length > 0 && !isSet('headers')))) {
    throw SecretReentryRequired();
  }
  if (!isSet('auth') && !isSet('headers')) return { auth: before.auth };
  const stored = isSet('auth') && isSet('headers') ? {} : secretsOf(parts.envelope, before);
  const auth: ReadAuth = isSet('auth') ? readAuth(request.auth) : { terms: before.auth, secrets: stored };
  const headers = isSet('headers') ? readHeaders(request.headers) : (stored.headers ?? {});
  const { token, clientSecret } = auth.secrets;
  return { auth: auth.terms, ...sealedFields(parts, before, { token, clientSecret, headers }) };
}

function sealedFields(
  { envelope }: McpParts,
  owner: { readonly id: string; readonly tenant: string },
  secrets: McpSecrets,
): Pick<McpServerRecord, 'sealed' | 'headerNames'> {
  const headerNames = Object.keys(secrets.headers ?? {}).sort();
  const isEmpty = headerNames.length === 0 && secrets.token === undefined && secrets.clientSecret === undefined;
  return { headerNames, sealed: isEmpty ? undefined : seal(envelope, owner, secrets) };
}

/** Begins an authorization by the owner, if the server uses OAuth. */
async function begin(
  parts: McpParts,
  request: CreateMcpServerRequest | UpdateMcpServerRequest,
  server: McpServerRecord,
  context: CallContext,
): Promise<{ readonly changed: McpServerRecord; readonly authorizeUrl?: string }> {
  if (server.auth.type !== 'oauth2') {
    if ('reauthorize' in request && request.reauthorize === true) {
      throw invalidField('reauthorize', 'invalid_value', 'can only be sent for auth of the type oauth2.');
    }
    return { changed: server };
  }
  if (!server.isActive) return { changed: server };
  const waiting = { ...server, status: 'auth_required', probeAt: undefined } as const;
  const asked = await askOwner(parts, request, server, context);
  if (typeof asked !== 'string') return { changed: { ...waiting, lastError: asked.message } };
  return { changed: { ...waiting, lastError: undefined }, authorizeUrl: asked };
}

async function requireFreeName({ mcpServers }: McpParts, agentId: string, name: string): Promise<void> {
  const taken = await mcpServers.count({ nameKey: nameKeyOf(agentId, name) }, 1);
  if (taken > 0) throw NameTaken({ name });
}

/** Returns the server that a request names by id or name; if it names neither, the only server of the agent. */
export async function selectServer(
  { mcpServers }: Pick<McpParts, 'mcpServers'>,
  agentId: string,
  { serverId, name }: { readonly serverId?: string | undefined; readonly name?: string | undefined },
): Promise<McpServerRecord> {
  const where = { agentId, ...(serverId !== undefined && { id: serverId }), ...(name !== undefined && { name }) };
  const found = await mcpServers.find({ where, limit: 2 });
  const [server] = found;
  if (server === undefined) throw NotFound({}, { param: serverId === undefined ? 'name' : 'server_id' });
  if (found.length > 1) throw MissingTarget({}, { param: 'server_id' });
  return server;
}

/** Maximum number of grants, authorizations and registrations that are deleted with one server. */
const MAX_REMOVED = 5_000;

async function removeGrants(parts: McpParts, { id: serverId }: McpServerRecord, { work }: Pick<CallContext, 'work'>) {
  const where = { serverId };
  for (const grant of await parts.mcpGrants.find({ where, limit: MAX_REMOVED })) work.remove(parts.mcpGrants, grant);
  for (const pending of await parts.mcpAuthorizations.find({ where, limit: MAX_REMOVED })) {
    work.remove(parts.mcpAuthorizations, pending);
  }
}

/** Deletes servers of an agent with their grants, authorizations and registrations. */
export async function removeServers(
  parts: McpParts,
  agent: AgentRecord,
  servers: readonly McpServerRecord[],
  context: Pick<CallContext, 'work'>,
): Promise<void> {
  for (const server of servers) {
    await removeGrants(parts, server, context);
    for (const client of await parts.mcpClients.find({ where: { serverId: server.id }, limit: MAX_REMOVED })) {
      context.work.remove(parts.mcpClients, client);
    }
    context.work.remove(parts.mcpServers, server);
  }
  if (servers.length === 0) return;
  const mcpServerCount = Math.max(agent.mcpServerCount - servers.length, 0);
  context.work.replace(parts.agents, agent, { ...agent, mcpServerCount });
}
