import { invalidField } from '@commonplace/kit/errors';
import { type Handlers, requireVersion } from '@commonplace/kit/rpc';
import { pageInOrder, wholeList } from '@commonplace/kit/store';
import type { PersonMemberships } from '@commonplace/platform/memberships';
import { agentRoleNamed } from '@commonplace/platform/memberships';
import type { AgentService, ReplaceAgentWorkspacesRequest } from '@commonplace/proto/agents/v1/agent_service.js';
import type { PageRequest } from '@commonplace/proto/api/v1/page.js';
import { seeAgent } from '../agents/access.js';
import { type GivenPlace, placesAfter, seenPlaces } from '../agents/places.js';
import type { Parts } from '../parts.js';
import { type AgentPlace, leftWorkspaces } from '../stores/agents.js';
import { placeMessage } from '../wire/agents.js';

type WorkspaceHandlers = Pick<Handlers<AgentService>, 'listAgentWorkspaces' | 'replaceAgentWorkspaces'>;

export function createAgentWorkspaceHandlers(parts: Parts): WorkspaceHandlers {
  return {
    async listAgentWorkspaces({ agentId, page }, context) {
      const { agent } = await seeAgent(parts, agentId, context);
      const person = await parts.memberships.of(context.caller.userId, context.onward);
      return present(seenPlaces(agent, person, context), person, page);
    },

    async replaceAgentWorkspaces(request, context) {
      const { agent, isOwner } = await seeAgent(parts, request.agentId, context);
      requireVersion(context, agent.version, agent);
      const person = await parts.memberships.fresh(context.caller.userId, context.onward);
      const places = placesAfter(parts, agent, isOwner, givenPlaces(request), person, context);
      const workspaceIds = places.map(({ workspaceId }) => workspaceId);
      const changedNow = { updatedBy: context.actor, updatedAt: new Date().toISOString() };
      const after = context.work.replace(parts.agents, agent, { ...agent, places, workspaceIds, ...changedNow });
      const leftWorkspaceIds = leftWorkspaces(agent, after);
      const data = { agentId: agent.id, orgId: agent.orgId, changedFields: ['workspaces'], leftWorkspaceIds };
      context.work.publish(context.event('agent.updated', agent.id, data, agent.tenant));
      const seen = seenPlaces(after, person, context);
      return present(seen, person, wholeList(seen));
    },
  };
}

/** Returns a page of the workspaces of an agent, with the names that a person sees. */
function present(places: readonly AgentPlace[], person: PersonMemberships, request: PageRequest | undefined) {
  const { items, page } = pageInOrder(
    request,
    places.map((place) => ({ id: place.workspaceId, place })),
  );
  return { items: items.map(({ id, place }) => placeMessage(place, person.workspaces.get(id)?.name ?? '')), page };
}

/** Returns the workspaces of a request, which may name them in two ways. Throws if these contradict each other. */
function givenPlaces({ workspaces, workspaceIds }: ReplaceAgentWorkspacesRequest): GivenPlace[] {
  const places = workspaces?.items.map(({ workspaceId, role }, i): GivenPlace => {
    const at = `workspaces[${i}]`;
    return { workspaceId, role: agentRoleNamed(role), idParam: `${at}.workspace_id`, roleParam: `${at}.role` };
  });
  const viewed = workspaceIds?.items.map((workspaceId, i): GivenPlace => {
    const param = `workspace_ids[${i}]`;
    return { workspaceId, role: 'viewer', idParam: param, roleParam: param };
  });
  if (places !== undefined && viewed !== undefined && keyOf(places) !== keyOf(viewed)) {
    throw invalidField('workspace_ids', 'conflicting_alias', 'names other workspaces or roles than workspaces.');
  }
  const given = places ?? viewed;
  if (given === undefined) throw invalidField('workspaces', 'missing_field', 'is required.');
  return given;
}

const keyOf = (places: readonly GivenPlace[]): string =>
  places
    .map(({ workspaceId, role }) => `${workspaceId}:${role}`)
    .sort()
    .join();
