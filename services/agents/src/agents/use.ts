import { invalidField } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import { WorkspaceRequired } from '@commonplace/platform/memberships';
import { AgentPaused, ModelNotConfigured } from '../errors.js';
import type { Parts } from '../parts.js';
import type { Asking } from '../policy.js';
import type { AgentRecord } from '../stores/agents.js';
import { usableAgent } from './access.js';
import { seenPlaces } from './places.js';

type UseParts = Pick<Parts, 'agents' | 'memberships' | 'models'>;

type AskingHere = Pick<Asking, 'caller' | 'onward' | 'work'>;

/** An agent for a run, and the workspace of the run. */
interface AgentUse {
  readonly agent: AgentRecord;
  readonly workspaceId: string;
}

/**
 * Returns an agent that the caller may run now, and the workspace: the named one, or the only one that both the caller
 * and the agent are in. Throws `agent_paused`, `model_not_configured` and `workspace_required`.
 */
export async function agentForRun(
  parts: UseParts,
  agentId: string,
  workspaceId: string | undefined,
  context: AskingHere,
): Promise<AgentUse> {
  const use = await agentIn(parts, agentId, workspaceId, context);
  const { status, tools, skills, mcpServerCount } = use.agent;
  if (status !== 'active') throw AgentPaused();
  const callsTools = tools.length > 0 || skills.some(({ isEnabled }) => isEnabled) || mcpServerCount > 0;
  if (callsTools && !parts.models.isConfigured) throw ModelNotConfigured();
  return use;
}

/** Returns an agent that the caller may use, and the workspace in which it acts for them. */
export async function agentIn(
  parts: Pick<UseParts, 'agents' | 'memberships'>,
  agentId: string,
  workspaceId: string | undefined,
  context: AskingHere,
): Promise<AgentUse> {
  const agent = await usableAgent(parts, agentId, 'agent_id', context);
  const places = await presentPlaces(parts, agent, context);
  if (workspaceId !== undefined) {
    if (places.some((place) => place.workspaceId === workspaceId)) return { agent, workspaceId };
    throw invalidField('workspace_id', 'invalid_value', 'is not a workspace in which the agent acts.');
  }
  const person = await parts.memberships.of(context.caller.userId, context.onward);
  const [only, ...others] = seenPlaces({ places }, person, context);
  if (only === undefined || others.length > 0) throw WorkspaceRequired({}, { param: 'workspace_id' });
  return { agent, workspaceId: only.workspaceId };
}

/**
 * Returns the workspaces of an agent that its owner still belongs to. The owner writes the instructions and chooses the
 * servers, so the agent acts only where the owner belongs.
 */
async function presentPlaces(
  { memberships }: Pick<UseParts, 'memberships'>,
  { orgId, ownerId, places }: AgentRecord,
  { onward }: Pick<CallContext, 'onward'>,
): Promise<AgentRecord['places']> {
  const holds = (owner: Awaited<ReturnType<typeof memberships.of>>) =>
    places.filter(({ workspaceId }) => owner.workspaces.get(workspaceId)?.orgId === orgId);
  const known = holds(await memberships.of(ownerId, onward));
  return known.length === places.length ? known : holds(await memberships.fresh(ownerId, onward));
}
