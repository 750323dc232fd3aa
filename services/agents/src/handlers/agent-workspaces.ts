import { invalidField } from '@commonplace/kit/errors';
import { type CallContext, type Handlers, requireVersion } from '@commonplace/kit/rpc';
import type { PersonMemberships } from '@commonplace/platform/memberships';
import type { AgentService, ReplaceAgentWorkspacesRequest } from '@commonplace/proto/agents/v1/agent_service.js';
import { seeAgent } from '../agents/access.js';
import { type GivenPlace, placesAfter, seenPlaces } from '../agents/places.js';
import type { Parts } from '../parts.js';
import type { AgentRecord } from '../stores/agents.js';
import { agentRole, placeMessage } from '../wire/agents.js';

type WorkspaceHandlers = Pick<Handlers<AgentService>, 'listAgentWorkspaces' | 'replaceAgentWorkspaces'>;

/** Creates the handlers for the workspaces of agents. */
export function createAgentWorkspaceHandlers(parts: Parts): WorkspaceHandlers {
  const list = (agent: AgentRecord, person: PersonMemberships, context: CallContext) => ({
    items: seenPlaces(agent, person, context).map((place) =>
      placeMessage(place, person.workspaces.get(place.workspaceId)?.name ?? ''),
    ),
  });

  return {
    async listAgentWorkspaces({ agentId }, context) {
      const { agent } = await seeAgent(parts, agentId, context);
      return list(agent, await parts.memberships.of(context.caller.userId, context.onward), context);
    },

    async replaceAgentWorkspaces(request, context) {
      const { agent, isOwner } = await seeAgent(parts, request.agentId, context);
      requireVersion(context, agent.version, agent);
      const person = await parts.memberships.fresh(context.caller.userId, context.onward);
      const places = placesAfter(parts, agent, isOwner, givenPlaces(request), person, context);
      const workspaceIds = places.map(({ workspaceId }) => workspaceId);
      const updatedAt = new Date().toISOString();
      const after = context.work.replace(parts.agents, agent, { ...agent, places, workspaceIds, updatedAt });
      const data = { agentId: agent.id, orgId: agent.orgId, changedFields: ['workspaces'] };
      context.work.publish(context.event('agent.updated', agent.id, data, agent.tenant));
      return list(after, person, context);
    },
  };
}

function givenPlaces({ workspaces, workspaceIds }: ReplaceAgentWorkspacesRequest): GivenPlace[] {
  if (workspaces !== undefined && workspaceIds !== undefined) {
    throw invalidField('workspace_ids', 'ambiguous_target', 'must not be combined with workspaces.');
  }
  if (workspaces !== undefined) {
    return workspaces.items.map(({ workspaceId, role }, i) => ({
      ...{ workspaceId, role: agentRole(role), at: `workspaces[${i}].` },
    }));
  }
  if (workspaceIds === undefined) throw invalidField('workspaces', 'missing_field', 'is required.');
  return workspaceIds.items.map((workspaceId, i) => ({ workspaceId, role: 'viewer', at: `workspace_ids[${i}].` }));
}
