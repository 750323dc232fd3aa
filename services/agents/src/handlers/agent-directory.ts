import { invalidField } from '@commonplace/kit/errors';
import type { Handlers } from '@commonplace/kit/rpc';
import type { AgentDirectoryService } from '@commonplace/proto/agents/v1/agent_directory_service.js';
import { findUsable, findVisible } from '../agents/access.js';
import type { Parts } from '../parts.js';
import { findSessions } from '../policy.js';

/** Maximum ids of each kind in one request. */
const MAX_IDS = 1_000;

/** Creates the handlers for lookups of agents and chat sessions by other services. */
export function createAgentDirectoryHandlers(
  parts: Pick<Parts, 'agents' | 'sessions' | 'memberships'>,
): Handlers<AgentDirectoryService> {
  return {
    async lookUpAgents({ agentIds }, context) {
      const found = await findUsable(parts, agentIds, context);
      return {
        items: found.map(({ id, name, orgId, ownerId, status, autoRun }) => ({
          ...{ id, name, orgId, ownerId, isActive: status === 'active', autoRun },
        })),
      };
    },

    async checkAccess({ agentIds, chatSessionIds }, context) {
      requireFew(agentIds, 'agent_ids');
      requireFew(chatSessionIds, 'chat_session_ids');
      const [agents, sessions] = await Promise.all([
        findVisible(parts, agentIds, context),
        findSessions(parts, chatSessionIds, context),
      ]);
      return {
        agents: agents.map(({ id, name, workspaceIds }) => ({ id, name, workspaceIds: [...workspaceIds] })),
        chatSessions: sessions.map(({ id, title, workspaceId = '' }) => ({ id, title, workspaceId })),
      };
    },

    async countAgents({ orgId, ownerId }) {
      return { count: await parts.agents.count({ ownerId, orgId }) };
    },
  };
}

function requireFew(ids: readonly string[], param: string): void {
  if (ids.length > MAX_IDS) throw invalidField(param, 'invalid_value', `${param} may have at most ${MAX_IDS} ids.`);
}
