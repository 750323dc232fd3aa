import { authorOf, type Caller, credentialOutOfScope, reachesTenant, workspacesReached } from '@commonplace/kit/auth';
import { InsufficientRole, NotFound } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import type { Where } from '@commonplace/kit/store';
import { callerMemberships, isOrgRoleAtLeast, type PersonMemberships } from '@commonplace/platform/memberships';
import { OrgRole } from '@commonplace/proto/tenancy/v1/role.js';
import type { Parts } from '../parts.js';
import { type Asking, isAtLeastMember, isReader, orgsOfMember } from '../policy.js';
import type { AgentRecord } from '../stores/agents.js';

type AccessParts = Pick<Parts, 'agents' | 'memberships'>;

/** The rights of a person on an agent. */
export interface AgentAccess {
  readonly agent: AgentRecord;
  /** Whether they own it and still belong to its tenant. */
  readonly isOwner: boolean;
  /** Whether they administer its Org. Administrators may pause the agent even if they may not use it. */
  readonly isAdmin: boolean;
  /** Whether they may start runs of it. */
  readonly mayUse: boolean;
}

/**
 * Returns what a person may do with an agent by their memberships; the reach of the credential is checked elsewhere.
 */
export function accessTo(agent: AgentRecord, person: PersonMemberships): AgentAccess {
  const { orgId, visibility, workspaceIds } = agent;
  const inOrg = orgId === '' ? undefined : person.orgs.get(orgId);
  const belongs = orgId === '' || inOrg !== undefined;
  const isOwner = agent.ownerId === person.userId && belongs;
  const role = inOrg?.role;
  const isAdmin = isOrgRoleAtLeast(role, OrgRole.ADMIN);
  const covered =
    (visibility === 'org' && isAtLeastMember(role)) ||
    (visibility === 'workspace' && workspaceIds.some((id) => isReader(person.workspaces.get(id)?.role)));
  return { agent, isOwner, isAdmin, mayUse: isOwner || (belongs && covered) };
}

/**
 * Returns an agent that the caller may use or administers. Throws `NotFound` otherwise, and the error for a credential
 * that does not reach it.
 */
export async function seeAgent(parts: AccessParts, id: string, context: CallContext): Promise<AgentAccess> {
  const agent = await context.work.get(parts.agents, id);
  const isSeen = (person: PersonMemberships) => agent !== undefined && isVisible(accessTo(agent, person));
  const person = await callerMemberships(parts.memberships, context, isSeen);
  if (agent === undefined || !isSeen(person)) throw NotFound();
  requireReach(context.caller, agent);
  return accessTo(agent, person);
}

/** Returns whether the person may know that the agent exists. */
export const isVisible = ({ mayUse, isAdmin }: AgentAccess): boolean => mayUse || isAdmin;

/**
 * Returns an agent that the caller may use, and so may the author who limits the call. Throws `NotFound` otherwise;
 * `param` is the request field that names it.
 */
export async function usableAgent(
  parts: AccessParts,
  id: string,
  param: string,
  context: Pick<Asking, 'caller' | 'onward' | 'work'>,
): Promise<AgentRecord> {
  const agent = await context.work.get(parts.agents, id);
  const mayUse = (person: PersonMemberships) => agent !== undefined && accessTo(agent, person).mayUse;
  const person = await callerMemberships(parts.memberships, context, mayUse);
  if (agent === undefined || !mayUse(person)) throw NotFound({}, { param });
  requireReach(context.caller, agent);
  const author = authorOf(context.caller);
  if (author !== undefined) await usableAgent(parts, id, param, { ...context, caller: author });
  return agent;
}

/**
 * Returns an agent that the caller owns. Throws `InsufficientRole` for an agent that they may only use or administer.
 */
export async function openAgent(parts: AccessParts, id: string, context: CallContext): Promise<AgentRecord> {
  const { agent, isOwner } = await seeAgent(parts, id, context);
  if (!isOwner) throw InsufficientRole();
  return agent;
}

export function requireReach(caller: Caller, agent: AgentRecord): void {
  if (!isReached(caller, agent)) throw credentialOutOfScope(caller, agent.orgId || null);
}

/**
 * Returns whether a credential reaches an agent: it must reach the tenant and, if it is limited to workspaces, one of
 * the agent's workspaces.
 */
function isReached(caller: Caller, { orgId, workspaceIds }: AgentRecord): boolean {
  const only = workspacesReached(caller);
  return reachesTenant(caller, orgId || null) && (only === undefined || workspaceIds.some((id) => only.includes(id)));
}

/** Returns the filter for the agents that the caller sees with their credential. */
export function visibleAgents(person: PersonMemberships, caller: Caller): Where<AgentRecord> {
  const orgIds = [...person.orgs.values()];
  const members = orgsOfMember(person);
  const administered = orgIds.filter(({ role }) => isOrgRoleAtLeast(role, OrgRole.ADMIN)).map(({ orgId }) => orgId);
  const read = [...person.workspaces.values()]
    .filter(({ role }) => isReader(role))
    .map(({ workspaceId }) => workspaceId);
  const only = workspacesReached(caller);
  const tenant = caller.tenant?.orgId;
  return {
    // An owner who has left the Org no longer sees the agents that they own there.
    or: [
      { ownerId: person.userId, orgId: { in: ['', ...person.orgs.keys()] } },
      { visibility: 'workspace', workspaceIds: { containsAny: read }, orgId: { in: ['', ...person.orgs.keys()] } },
      { visibility: 'org', orgId: { in: members } },
      { orgId: { in: administered } },
    ],
    and: [
      ...(only === undefined ? [] : [{ workspaceIds: { containsAny: [...only] } }]),
      ...(tenant === undefined ? [] : [{ orgId: tenant ?? '' }]),
    ],
  };
}

/** Returns those of the given agents that the caller can read with their credential. */
export async function findVisible(
  parts: AccessParts,
  ids: readonly string[],
  context: Pick<CallContext, 'caller' | 'onward'>,
): Promise<AgentRecord[]> {
  const found = await parts.agents.getMany([...new Set(ids)]);
  if (found.length === 0) return [];
  const sees = (person: PersonMemberships, agent: AgentRecord) => isVisible(accessTo(agent, person));
  const person = await callerMemberships(parts.memberships, context, (known) =>
    found.every((agent) => sees(known, agent)),
  );
  return found.filter((agent) => sees(person, agent) && isReached(context.caller, agent));
}

/** Returns those of the given agents that the caller may use with their credential. */
export async function findUsable(
  { agents, memberships }: AccessParts,
  ids: readonly string[],
  { caller, onward }: Pick<CallContext, 'caller' | 'onward'>,
): Promise<AgentRecord[]> {
  const found = await agents.getMany([...new Set(ids)]);
  if (found.length === 0) return [];
  const person = await memberships.fresh(caller.userId, onward);
  return found.filter((agent) => accessTo(agent, person).mayUse && isReached(caller, agent));
}
