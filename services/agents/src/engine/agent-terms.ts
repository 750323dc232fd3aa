import { AGENT_ROLES, type AgentRole } from '@commonplace/kit/auth';
import { scopesOf } from '../domain/scopes.js';
import type { AgentRecord } from '../stores/agents.js';
import type { RunRecord } from '../stores/runs.js';
import { type AgentParts, requireUsableAgent, toolGroupsOf } from './run-agent.js';

/** The current rights of a run by its agent: the stricter of the pinned version and the current one. */
export interface AgentTerms {
  /** Absent for the built-in assistant. */
  readonly agent: AgentRecord | undefined;
  readonly scopes: readonly string[];
}

/**
 * Reads the current rights of a run. Throws `permission_lost` if the agent is paused or no longer acts in the run's
 * workspace, and `AgentDeleted`.
 */
export async function readAgentTerms(parts: AgentParts, run: RunRecord): Promise<AgentTerms> {
  const agent = await requireUsableAgent(parts, run);
  const role = agent === undefined ? 'viewer' : roleIn(agent, run.workspaceId);
  return { agent, scopes: scopesOf(run.scopes, await toolGroupsOf(parts, run), role) };
}

function roleIn({ places }: AgentRecord, workspaceId: string | undefined): AgentRole | undefined {
  const held = places.find((place) => place.workspaceId === workspaceId)?.role;
  return AGENT_ROLES.find((role) => role === held);
}
