import { invalidField } from '@commonplace/kit/errors';
import { type Handlers, requireVersion } from '@commonplace/kit/rpc';
import { isWithinTimes, pageInOrder } from '@commonplace/kit/store';
import { foldName } from '@commonplace/kit/words';
import type { McpServer } from '@commonplace/proto/agents/v1/mcp_server.js';
import type { McpService } from '@commonplace/proto/agents/v1/mcp_service.js';
import { openAgent, seeAgent } from '../agents/access.js';
import { MissingTarget } from '../errors.js';
import { completeAuthorization } from '../mcp/authorization.js';
import { addServer, changeServer, removeServers, selectServer } from '../mcp/change.js';
import { grantOf } from '../mcp/tokens.js';
import type { Parts } from '../parts.js';
import type { AgentRecord } from '../stores/agents.js';
import type { McpServerRecord } from '../stores/mcp-servers.js';
import { mcpServerMessage, namesMessage } from '../wire/mcp.js';

/** Maximum number of servers in one answer; no agent may have more. */
const MAX_SERVERS = 100;

type McpStores = Pick<Parts, 'mcpServers' | 'mcpGrants'>;

const serversOf = ({ mcpServers }: McpStores, agentId: string) =>
  mcpServers.find({ where: { agentId }, sort: ['createdAt'], limit: MAX_SERVERS });

/** Returns a function that lists the MCP servers of an agent. Callers other than its owner get names only. */
export function mcpServersFor(parts: McpStores) {
  return async (agent: AgentRecord, isOwner: boolean): Promise<McpServer[]> =>
    presentAll(parts, agent, await serversOf(parts, agent.id), isOwner);
}

async function presentAll(
  parts: McpStores,
  { ownerId }: AgentRecord,
  servers: readonly McpServerRecord[],
  isOwner: boolean,
): Promise<McpServer[]> {
  return isOwner ? Promise.all(servers.map((server) => present(parts, server, ownerId))) : servers.map(namesMessage);
}

async function present(parts: McpStores, server: McpServerRecord, ownerId: string): Promise<McpServer> {
  const isGranted = server.auth.type === 'oauth2' && (await grantOf(parts, server, ownerId)) !== undefined;
  return mcpServerMessage(server, { isGranted });
}

export function createMcpHandlers(parts: Parts): Handlers<McpService> {
  return {
    async listMcpServers({ agentId, page: request, q, ...times }, context) {
      const { agent, isOwner } = await seeAgent(parts, agentId, context);
      const wanted = (await serversOf(parts, agent.id))
        .filter(({ name }) => foldName(name).includes(foldName(q)))
        // Others than the owner see no times, and so learn none.
        .filter(({ createdAt }) => isWithinTimes(isOwner ? { createdAt } : {}, times));
      const { items, page } = pageInOrder(request, wanted);
      return { items: await presentAll(parts, agent, items, isOwner), page };
    },

    async createMcpServer(request, context) {
      const agent = await openAgent(parts, request.agentId, context);
      const { server, authorizeUrl } = await addServer(parts, agent, request, context);
      return mcpServerMessage(server, { isGranted: false, authorizeUrl });
    },

    async updateMcpServer(request, context) {
      const agent = await openAgent(parts, request.agentId, context);
      const before = await selectServer(parts, agent.id, request);
      requireVersion(context, before.version, before);
      const { server, authorizeUrl } = await changeServer(parts, before, request, context);
      const isGranted = server.auth.type === 'oauth2' && server.status !== 'auth_required';
      return mcpServerMessage(server, { isGranted, authorizeUrl });
    },

    async deleteMcpServers({ agentId, all, ...selector }, context) {
      const agent = await openAgent(parts, agentId, context);
      const isSelected = selector.serverId !== undefined || selector.name !== undefined;
      if (!all && !isSelected) throw MissingTarget({}, { param: 'server_id' });
      if (all && isSelected)
        throw invalidField('all', 'ambiguous_target', 'must not be combined with server_id or name.');
      const servers = all ? await serversOf(parts, agent.id) : [await selectServer(parts, agent.id, selector)];
      const [only, ...others] = servers;
      requireVersion(context, only === undefined || others.length > 0 ? agent.version : only.version);
      await removeServers(parts, agent, servers, context);
      return { deletedCount: servers.length };
    },

    completeMcpAuthorization: (request, context) => completeAuthorization(parts, request, context),
  };
}
