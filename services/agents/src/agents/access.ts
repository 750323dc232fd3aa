import { beyondReach, type Caller, reachesTenant } from '@commonplace/kit/auth';
import { InsufficientRole, NotFound } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import type { Where } from '@commonplace/kit/store';
import type { PersonMemberships } from '@commonplace/platform/memberships';
import { OrgRole } from '@commonplace/proto/tenancy/v1/role.js';
import type { Parts } from '../parts.js';
import { type Asking, membershipsOf, READERS } from '../policy.js';
import type { AgentRecord } from '../stores/agents.js';

type AccessParts = Pick<Parts, 'agents' | 'memberships'>;

/** What a person may do with an agent. */
export interface AgentAccess {
  readonly agent: AgentRecord;
  /** Whether they own it and still belong to its tenant. */
  readonly isOwner: boolean;
  /** Whether they administer its Org: they may pause it, whether they may use it or not. */
  readonly isAdmin: boolean;
  /** Whether they may start runs of it. */
  readonly mayUse: boolean;
}

/** Returns what a person may do with an agent by their memberships, whatever their credential reaches. */
export function accessTo(agent: AgentRecord, person: PersonMemberships): AgentAccess {
  const { orgId, visibility, workspaceIds } = agent;
  const inOrg = orgId === '' ? undefined : person.orgs.get(orgId);
  const belongs = orgId === '' || inOrg !== undefined;
  const isOwner = agent.ownerId === person.userId && belongs;
  const role = inOrg?.role ?? OrgRole.UNSPECIFIED;
  const isAdmin = role === OrgRole.ADMIN || role === OrgRole.OWNER;
  const covered =
    (visibility === 'org' && isAtLeastMember(role)) ||
    (visibility === 'workspace' && workspaceIds.some((id) => reads(person, id)));
  return { agent, isOwner, isAdmin, mayUse: isOwner || (belongs && covered) };
}

const MEMBERS: ReadonlySet<OrgRole> = new Set([OrgRole.MEMBER, OrgRole.ADMIN, OrgRole.OWNER]);

/** Guests of an Org see only what they were given. */
export const isAtLeastMember = (role: OrgRole): boolean => MEMBERS.has(role);

const reads = ({ workspaces }: PersonMemberships, id: string): boolean => {
  const role = workspaces.get(id)?.role;
  return role !== undefined && READERS.has(role);
};

/** Returns an agent that the caller may use, or administers. Throws `NotFound` for all others. */
export async function seeAgent(parts: AccessParts, id: string, context: CallContext): Promise<AgentAccess> {
  const agent = await context.work.get(parts.agents, id);
  const isSeen = (person: PersonMemberships) => agent !== undefined && isVisible(accessTo(agent, person));
  const person = await membershipsOf(parts, context, isSeen);
  if (agent === undefined || !isSeen(person)) throw NotFound();
  requireReach(context.caller, agent);
  return accessTo(agent, person);
}

/** Whether somebody sees that there is an agent. */
export const isVisible = ({ mayUse, isAdmin }: AgentAccess): boolean => mayUse || isAdmin;

/** Returns an agent that the caller may use. Throws `NotFound` for all others; `param` names it in a request. */
export async function usableAgent(
  parts: AccessParts,
  id: string,
  param: string,
  context: Pick<Asking, 'caller' | 'onward' | 'work'>,
): Promise<AgentRecord> {
  const agent = await context.work.get(parts.agents, id);
  const mayUse = (person: PersonMemberships) => agent !== undefined && accessTo(agent, person).mayUse;
  const person = await membershipsOf(parts, context, mayUse);
  if (agent === undefined || !mayUse(person)) throw NotFound({}, { param });
  requireReach(context.caller, agent);
  return agent;
}

/** Returns an agent that the caller owns. Throws `InsufficientRole` for one that they may only use or administer. */
export async function openAgent(parts: AccessParts, id: string, context: CallContext): Promise<AgentRecord> {
  const { agent, isOwner } = await seeAgent(parts, id, context);
  if (!isOwner) throw InsufficientRole();
  return agent;
}

export function requireReach(caller: Caller, agent: AgentRecord): void {
  if (!isReached(caller, agent)) throw beyondReach(caller, agent.orgId || null);
}

/** Whether a credential reaches an agent: its tenant and, if it is limited to workspaces, one of the agent's. */
function isReached(caller: Caller, { orgId, workspaceIds }: AgentRecord): boolean {
  const only = workspacesReached(caller);
  return reachesTenant(caller, orgId || null) && (only === undefined || workspaceIds.some((id) => only.includes(id)));
}

/** The only workspaces that a credential reaches; no such limit when absent. */
export function workspacesReached(caller: Caller): readonly string[] | undefined {
  return caller.workspaceId === undefined ? caller.credential.workspaceIds : [caller.workspaceId];
}

/** Returns the condition for the agents that the caller sees with their credential. */
export function visibleAgents(person: PersonMemberships, caller: Caller): Where<AgentRecord> {
  const orgIds = [...person.orgs.values()];
  const members = orgIds.filter(({ role }) => isAtLeastMember(role)).map(({ orgId }) => orgId);
  const administered = orgIds.filter(({ role }) => isAtLeastAdmin(role)).map(({ orgId }) => orgId);
  const read = [...person.workspaces.keys()].filter((id) => reads(person, id));
  const only = workspacesReached(caller);
  const tenant = caller.tenant?.orgId;
  return {
    // An agent of an Org that its owner has left is theirs no more.
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

const isAtLeastAdmin = (role: OrgRole): boolean => role === OrgRole.ADMIN || role === OrgRole.OWNER;

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
