import { InsufficientScope } from '@commonplace/kit/errors';
import type { CallOptions } from '@commonplace/kit/rpc';
import { createActAs, isAccessLost } from '@commonplace/platform/acting';
import { agentRoleName } from '@commonplace/platform/memberships';
import type { ActAsRequest, ActingAgent } from '@commonplace/proto/identity/v1/auth_service.js';
import type { Parts } from '../parts.js';
import type { AgentRecord } from '../stores/agents.js';
import type { RunRecord } from '../stores/runs.js';
import { type AgentTerms, readAgentTerms } from './agent-terms.js';
import { type AgentParts, personLost } from './run-agent.js';

/** What a call needs in addition to the rights of the run. */
export interface Need {
  /** A scope that the run must have. The called service checks it as well. */
  readonly scope?: string | undefined;
  /**
   * Whether the call reads something that the person has named, or that is pinned, which may be outside of the run's
   * workspace as far as the credential reaches.
   */
  readonly isNamed?: boolean | undefined;
}

/**
 * Returns the options of a call by the run's agent on behalf of the person who started the run, with a deadline after
 * `timeoutMs`. It checks the agent's rights before each call. Throws `insufficient_scope`, and the run failure
 * `permission_lost`.
 */
export type Acting = (timeoutMs?: number, need?: Need) => Promise<CallOptions>;

const CALL_MS = 20_000;

type ActingParts = AgentParts & Pick<Parts, 'auth'>;

/**
 * Creates tokens for the person who started a run, as long as they belong to its tenant, and for its agent, as long as
 * it has the rights. `current` returns the current record of the run.
 */
export function actingFor(parts: ActingParts, current: () => RunRecord, signal: AbortSignal): Acting {
  const actAs = createActAs(parts);
  return async (timeoutMs = CALL_MS, { scope, isNamed = false } = {}) => {
    const run = current();
    const terms = await readAgentTerms(parts, run);
    if (scope !== undefined && !terms.scopes.includes(scope)) throw InsufficientScope({ scope });
    // A change of the agent, or newly read untrusted content, changes the request and so takes effect at once.
    const options = await actAs(requestOf(run, terms, isNamed), timeoutMs).catch(lostAccess);
    return { ...options, signal };
  };
}

function requestOf(run: RunRecord, { agent, scopes }: AgentTerms, isNamed: boolean): ActAsRequest {
  const { userId, authorId, orgId, workspaceId, chain = [] } = run;
  return {
    ...{ userId, authorId, orgId, scopes: [...scopes] },
    agent: agent && actingAgent(agent, run),
    workspaceIds: workspaceId !== undefined && !isNamed ? [workspaceId] : workspacesOf(run),
    automation: undefined,
    chain: [...chain],
  };
}

/** Returns the workspaces to which the credential of a run is limited; none without such a limit. */
function workspacesOf({ isLimited, workspaceId, limitedTo }: RunRecord): string[] {
  if (limitedTo !== undefined) return [...limitedTo];
  return isLimited === true && workspaceId !== undefined ? [workspaceId] : [];
}

function actingAgent({ id, name, places }: AgentRecord, { taintSources = [] }: RunRecord): ActingAgent {
  const roles = places.map(({ workspaceId, role }) => ({ workspaceId, role: agentRoleName(role) }));
  return { id, name, roles, tainted: taintSources.length > 0 };
}

/**
 * Throws `permission_lost` if the error means that the person has lost access; rethrows other errors, which are
 * retried.
 */
function lostAccess(error: unknown): never {
  throw isAccessLost(error) ? personLost() : error;
}
