import { type CallContext, sooner } from '@commonplace/kit/rpc';
import type { PersonMemberships } from '@commonplace/platform/memberships';
import type { Agent } from '@commonplace/proto/agents/v1/agent.js';
import { Disposition } from '@commonplace/proto/files/v1/file_service.js';
import type { Parts } from '../parts.js';
import type { AgentRecord } from '../stores/agents.js';
import { type AgentView, agentMessage, placeMessage } from '../wire/agents.js';
import { accessTo } from './access.js';
import { seenPlaces } from './places.js';

type PresentParts = Pick<Parts, 'runs' | 'files'>;

/** Milliseconds to wait for the signed URL of an avatar; after that the agent is presented without it. */
const AVATAR_MS = 2_000;

/** The parts that a request includes. */
type IncludedParts = Pick<AgentView, 'skills' | 'mcp' | 'versions'> & { readonly withWorkspaces?: boolean };

/** Returns an agent with what the caller may see; `more` contains the parts that the request includes. */
export async function presentAgent(
  parts: PresentParts,
  agent: AgentRecord,
  person: PersonMemberships,
  context: CallContext,
  more: IncludedParts = {},
): Promise<Agent> {
  const lastRunAt = await parts.runs.max('createdAt', { agentId: agent.id });
  return present(parts, agent, person, context, { ...more, lastRunAt });
}

/** Returns agents with what the caller may see. */
export async function presentAgents(
  parts: PresentParts,
  agents: readonly AgentRecord[],
  person: PersonMemberships,
  context: CallContext,
): Promise<Agent[]> {
  const ids = agents.map(({ id }) => id);
  const lastRuns = await parts.runs.maxBy({ max: 'createdAt', by: 'agentId' }, ids);
  const each = agents.map((agent) => present(parts, agent, person, context, { lastRunAt: lastRuns.get(agent.id) }));
  return Promise.all(each);
}

async function present(
  parts: PresentParts,
  agent: AgentRecord,
  person: PersonMemberships,
  context: CallContext,
  more: IncludedParts & Pick<AgentView, 'lastRunAt'>,
): Promise<Agent> {
  const avatarUrl = await avatarOf(parts, agent, context);
  const places = seenPlaces(agent, person, context);
  const { withWorkspaces, ...given } = more;
  const nameOf = (id: string) => person.workspaces.get(id)?.name ?? '';
  return agentMessage(agent, {
    ...{ isOwner: accessTo(agent, person).isOwner, avatarUrl, workspaceCount: places.length },
    ...given,
    ...(withWorkspaces === true && {
      workspaces: places.map((place) => placeMessage(place, nameOf(place.workspaceId))),
    }),
  });
}

async function avatarOf(
  { files }: PresentParts,
  { avatarFileId: resourceId }: AgentRecord,
  { caller, onward }: CallContext,
): Promise<string | undefined> {
  // The signed URL gives access to the bytes, so the credential needs the scope for requesting it.
  if (resourceId === undefined || !caller.credential.scopes.includes('file:read')) return undefined;
  const request = { resourceId, disposition: Disposition.INLINE, expiresIn: undefined, thumbnail: undefined };
  try {
    return (await files.getFile(request, sooner(onward, Date.now() + AVATAR_MS))).downloadUrl;
  } catch {
    return undefined;
  }
}
