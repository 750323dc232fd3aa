import {
  AGENT_ROLES,
  AGENT_SCOPES,
  type CallingAgent,
  type CallingAutomation,
  isKnownScope,
} from '@commonplace/kit/auth';
import { invalidField } from '@commonplace/kit/errors';
import { agentRoleName } from '@commonplace/platform/memberships';
import type { ActAsRequest, ActingAgent, ActingAutomation } from '@commonplace/proto/identity/v1/auth_service.js';

/** Terms of a token for a person: its limits, and the agent that acts on their behalf. */
interface ActingTerms {
  readonly id: string;
  readonly scopes: readonly string[];
  readonly workspaceIds?: readonly string[];
  readonly agent?: CallingAgent;
  readonly automation?: CallingAutomation;
  readonly authorId?: string;
  readonly chain?: readonly string[];
}

const FOR_AGENTS: ReadonlySet<string> = new Set(AGENT_SCOPES);

/**
 * Returns the terms of a token for a person. An agent's token reaches only the workspaces in which the agent has a
 * role. Throws `invalid_scope` for a scope that does not exist or that no agent can have.
 */
export function actingAs({
  userId,
  scopes,
  agent: requestedAgent,
  workspaceIds,
  automation,
  chain,
  authorId,
}: ActAsRequest): ActingTerms {
  const unknown = scopes.find((scope) => !isKnownScope(scope));
  if (unknown !== undefined) throw invalidField('scopes', 'invalid_scope', `There is no scope ${unknown}.`);
  const led = {
    ...(chain.length > 0 && { chain }),
    ...(authorId !== undefined && authorId !== userId && { authorId }),
  };
  if (requestedAgent === undefined) {
    return {
      id: automation === undefined ? `act_${userId}` : `act_${userId}_${automation.id}`,
      scopes,
      ...(workspaceIds.length === 0 ? {} : { workspaceIds }),
      ...(automation === undefined ? {} : { automation: callingAutomation(automation) }),
      ...led,
    };
  }
  const refused = scopes.find((scope) => !FOR_AGENTS.has(scope));
  if (refused !== undefined) throw invalidField('scopes', 'invalid_scope', `No agent has the scope ${refused}.`);
  const agent = callingAgent(requestedAgent);
  const reached = Object.keys(agent.roles);
  return {
    id: `act_${userId}_${agent.id}`,
    scopes,
    agent,
    ...led,
    workspaceIds: workspaceIds.length === 0 ? reached : reached.filter((id) => workspaceIds.includes(id)),
  };
}

/** Returns the agent with its roles. Throws `invalid_value` for a role that no agent can have. */
function callingAgent({ id, name, roles, tainted }: ActingAgent): CallingAgent {
  const entries = roles.map(({ workspaceId, role }) => {
    const known = AGENT_ROLES.find((one) => agentRoleName(one) === role);
    if (known === undefined) throw invalidField('agent.roles', 'invalid_value', `No agent has the role ${role}.`);
    return [workspaceId, known] as const;
  });
  return { id, name, roles: Object.fromEntries(entries), ...(tainted ? { tainted } : {}) };
}

function callingAutomation({ id, name, tainted }: ActingAutomation): CallingAutomation {
  return { id, name, ...(tainted ? { tainted } : {}) };
}
