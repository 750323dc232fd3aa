import type { Handlers } from '@commonplace/kit/rpc';
import type { AgentDirectoryService } from '@commonplace/proto/agents/v1/agent_directory_service.js';
import { findUsable } from '../agents/access.js';
import type { Parts } from '../parts.js';

/** Creates the handlers for lookups of agents by other services. */
export function createAgentDirectoryHandlers(
  parts: Pick<Parts, 'agents' | 'memberships'>,
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

    async countAgents({ orgId, ownerId }) {
      return { count: await parts.agents.count({ ownerId, orgId }) };
    },
  };
}
