import { accessTo } from '../agents/access.js';
import { BYTES_PER_TOKEN } from '../models/estimate.js';
import type { ModelInfo } from '../models/port.js';
import type { Parts } from '../parts.js';
import { belongsTo } from '../policy.js';
import {
  type AgentRecord,
  type AgentVersionRecord,
  agentVersionId,
  type PinnedSkill,
  type ToolGroup,
} from '../stores/agents.js';
import type { RunRecord } from '../stores/runs.js';
import type { Acting } from './acting.js';
import { RunFailure } from './failure.js';
import { ASSISTANT, agentText } from './prompt.js';

export type AgentParts = Pick<Parts, 'agents' | 'agentVersions' | 'memberships' | 'index' | 'systemCall'>;

/** Thrown if the agent of a run was deleted, which cancels the run. */
export class AgentDeleted extends Error {}

/** The model settings of a run's agent, from the version that the run has pinned. */
export interface RunAgent {
  /** The beginning of the prompt. */
  readonly system: string;
  readonly temperature?: number | undefined;
}

/** Loads the model settings from the agent's version, or those of the built-in assistant. */
export async function loadRunAgent(parts: AgentParts, run: RunRecord, acting: Acting): Promise<RunAgent> {
  const version = await versionOf(parts, run);
  if (version === undefined) return { system: ASSISTANT };
  const skills = await usableSkills(parts, version, acting);
  const { instructions, temperature } = version;
  return { system: agentText({ name: run.agentName ?? '', instructions, skills }), temperature };
}

/** Returns the version of the agent that a run uses; undefined for the built-in assistant. Throws `AgentDeleted`. */
export async function versionOf(
  { agentVersions }: Pick<Parts, 'agentVersions'>,
  { agentId, agentVersion = 0 }: Pick<RunRecord, 'agentId' | 'agentVersion'>,
): Promise<AgentVersionRecord | undefined> {
  if (agentId === undefined) return undefined;
  const version = await agentVersions.get(agentVersionId(agentId, agentVersion));
  if (version === undefined) throw new AgentDeleted('The agent was deleted.');
  return version;
}

/** Returns the enabled skills of a version, without those whose document the person cannot read. */
async function usableSkills(
  { index }: AgentParts,
  { skills }: AgentVersionRecord,
  acting: Acting,
): Promise<readonly PinnedSkill[]> {
  const enabled = skills.filter(({ isEnabled }) => isEnabled);
  const ids = [...new Set(enabled.flatMap(({ resourceId }) => resourceId ?? []))];
  if (ids.length === 0) return enabled;
  const { resources } = await index.checkAccess({ ids }, await acting(undefined, { isNamed: true }));
  const readable = new Set(resources.map(({ id }) => id));
  return enabled.filter(({ resourceId }) => resourceId === undefined || readable.has(resourceId));
}

/** Returns the tool groups of a run's agent: those that the pinned version and the current agent have in common. */
export async function toolGroupsOf(
  parts: Pick<Parts, 'agents' | 'agentVersions'>,
  run: RunRecord,
): Promise<readonly ToolGroup[]> {
  const version = await versionOf(parts, run);
  if (version === undefined) return ASSISTANT_GROUPS;
  const present = await parts.agents.get(version.agentId);
  return version.tools.filter((group) => present?.tools.includes(group) === true);
}

/** The tool groups of the built-in assistant. */
const ASSISTANT_GROUPS: readonly ToolGroup[] = ['search', 'read'];

/**
 * Returns the agent of a run. Throws unless the person still belongs to its place, and unless the agent exists, is
 * active, acts in the run's workspace, has an owner who belongs there, and may be used by the person and by the author
 * whose rights limit the run. Call it before each call of a model or a tool.
 */
export async function requireUsableAgent(parts: AgentParts, run: RunRecord): Promise<AgentRecord | undefined> {
  const { agentId, userId, authorId = userId, workspaceId } = run;
  await requirePerson(parts, run);
  if (agentId === undefined) return undefined;
  const agent = await parts.agents.get(agentId);
  if (agent === undefined) throw new AgentDeleted('The agent was deleted.');
  if (agent.status !== 'active') throw lost('The agent was paused.');
  const [person, author, owner] = await Promise.all(
    [userId, authorId, agent.ownerId].map((id) => parts.memberships.of(id, parts.systemCall())),
  );
  const place = agent.places.find((one) => one.workspaceId === workspaceId);
  if (place === undefined || workspaceId === undefined || owner?.workspaces.has(workspaceId) !== true) {
    throw lost('The agent no longer acts in the workspace.');
  }
  if (person === undefined || !accessTo(agent, person).mayUse) {
    throw lost('The person who started the run may no longer use the agent.');
  }
  if (author === undefined || !accessTo(agent, author).mayUse) {
    throw lost('The person who has set up the automation may no longer use the agent.');
  }
  return agent;
}

/** Throws `permission_lost` unless the person who started a run belongs to its place. */
async function requirePerson(
  { memberships, systemCall }: Pick<AgentParts, 'memberships' | 'systemCall'>,
  { userId, orgId, workspaceId }: RunRecord,
): Promise<void> {
  if (belongsTo(await memberships.of(userId, systemCall()), { orgId, workspaceId })) return;
  if (!belongsTo(await memberships.fresh(userId, systemCall()), { orgId, workspaceId })) throw personLost();
}

/** Returns the failure of a run whose person has lost access. */
export const personLost = (): RunFailure => lost('The person who started the run no longer has access.');

const lost = (message: string): RunFailure => new RunFailure('permission_lost', message, false);

const MIN_PIN_LENGTH = 200;

/**
 * Returns the maximum characters of each pinned resource in a prompt; together they may take a third of the model's
 * context.
 */
export function pinLength({ contextTokens }: Pick<ModelInfo, 'contextTokens'>, count: number, most: number): number {
  const each = Math.floor((contextTokens * BYTES_PER_TOKEN) / 3 / Math.max(count, 1));
  return Math.min(Math.max(each, MIN_PIN_LENGTH), most);
}
