import { type AgentRole, agentRoleIn, type CallingAgent } from '@commonplace/kit/auth';
import { agentRoleName } from '@commonplace/platform/memberships';
import { type Access, effectiveAccess, lesserAccess } from './access.js';
import type { Grant } from './grant.js';
import type { Node } from './node.js';

/** An agent that acts on behalf of a person and is itself a principal of grants. */
export interface ActingAgent {
  readonly principal: string;
  /** Returns the agent's role in a workspace; undefined if it has none there. */
  roleIn(workspaceId: string): AgentRole | undefined;
}

export function actingAgent(agent: CallingAgent | undefined): ActingAgent | undefined {
  if (agent === undefined) return undefined;
  return { principal: `agent:${agent.id}`, roleIn: (workspaceId) => agentRoleIn(agent, workspaceId) };
}

/** Maximum access of an agent to a node, whatever role it was granted: an agent never manages. */
const MAX_ACCESS: Access = { role: 'editor', source: 'agent' };

/**
 * Returns an agent's own access to a node: by its role in the workspace, cut at restricted boundaries, and by its direct
 * grants among `held`. It has none in a workspace without a role.
 */
export function agentAccess(
  node: Node,
  { principal, roleIn }: ActingAgent,
  held: readonly Grant[],
  now: string,
): Access | undefined {
  const role = roleIn(node.workspaceId);
  if (role === undefined) return undefined;
  const own = held.filter((grant) => grant.principal === principal);
  const access = effectiveAccess(node, agentRoleName(role), own, now);
  return access && lesserAccess(MAX_ACCESS, access);
}

/** Returns whether no grant can add to an agent's access to a node. */
export function agentNeedsNoGrant({ boundary, workspaceId }: Node, { roleIn }: ActingAgent): boolean {
  const role = roleIn(workspaceId);
  return role === undefined || (role === MAX_ACCESS.role && boundary === workspaceId);
}
