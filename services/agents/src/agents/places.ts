import { credentialOutOfScope, reachesWorkspace, workspacesReached } from '@commonplace/kit/auth';
import { type AppError, InsufficientRole, invalidField, NotFound, TenantBoundary } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import type { PersonMemberships } from '@commonplace/platform/memberships';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { LimitReached, WorkspaceArchived } from '../errors.js';
import type { Parts } from '../parts.js';
import { READERS } from '../policy.js';
import type { AgentPlace, AgentRecord, AgentRole } from '../stores/agents.js';

const RANKS: Readonly<Record<AgentRole, number>> = { viewer: 1, commenter: 2, editor: 3 };
const ROLE_RANKS: Partial<Record<WorkspaceRole, number>> = {
  [WorkspaceRole.VIEWER]: 1,
  [WorkspaceRole.COMMENTER]: 2,
  [WorkspaceRole.EDITOR]: 3,
  [WorkspaceRole.ADMIN]: 4,
  [WorkspaceRole.OWNER]: 4,
};
const ADMIN_RANK = 4;

/** Returns the workspaces of an agent that the caller can see with their credential. */
export function seenPlaces(
  { places }: Pick<AgentRecord, 'places'>,
  { workspaces }: PersonMemberships,
  { caller }: Pick<CallContext, 'caller'>,
): readonly AgentPlace[] {
  const only = workspacesReached(caller);
  return places.filter(({ workspaceId: id }) => workspaces.has(id) && (only === undefined || only.includes(id)));
}

/** A workspace and role in a request; `at` is the path prefix of its fields. */
export interface GivenPlace extends AgentPlace {
  readonly at: string;
}

/**
 * Returns the workspaces and roles of an agent after a request. The owner may remove workspaces, add them as viewer and
 * lower roles; raising a role above viewer takes an administrator of the workspace. A caller who is not the owner may
 * change the agent only in workspaces that they administer; workspaces that they cannot see are kept.
 */
export function placesAfter(
  { settings }: Pick<Parts, 'settings'>,
  agent: AgentRecord,
  isOwner: boolean,
  given: readonly GivenPlace[],
  person: PersonMemberships,
  context: CallContext,
): AgentPlace[] {
  requireOnce(given);
  const before = new Map(agent.places.map((place) => [place.workspaceId, place.role]));
  for (const { workspaceId, role, at } of given) {
    const rank = rankIn(agent, workspaceId, at, person, context);
    if (before.get(workspaceId) === role) continue;
    const present = before.get(workspaceId);
    const lowers = present !== undefined && RANKS[role] < RANKS[present];
    const needed = isOwner && (RANKS[role] === RANKS.viewer || lowers) ? RANKS.viewer : ADMIN_RANK;
    if (rank < needed) throw InsufficientRole({}, { param: `${at}role` });
    if (person.workspaces.get(workspaceId)?.archived === true) throw WorkspaceArchived();
  }
  const named = new Set(given.map(({ workspaceId }) => workspaceId));
  const left = agent.places.filter(({ workspaceId }) => !named.has(workspaceId));
  const kept = isOwner ? [] : left.filter(({ workspaceId }) => !person.workspaces.has(workspaceId));
  const removed = isOwner ? [] : left.filter(({ workspaceId }) => person.workspaces.has(workspaceId));
  if (removed.some(({ workspaceId }) => rankOf(person, workspaceId) < ADMIN_RANK)) throw InsufficientRole();
  const after = [...kept, ...given.map(({ workspaceId, role }) => ({ workspaceId, role }))];
  const limit = settings.agentWorkspaces;
  if (after.length > limit) throw LimitReached({ limit, what: 'workspaces of one agent' });
  return after.sort((a, b) => (a.workspaceId < b.workspaceId ? -1 : 1));
}

function requireOnce(given: readonly GivenPlace[]): void {
  const ids = given.map(({ workspaceId }) => workspaceId);
  const again = given.find(({ workspaceId }, i) => ids.indexOf(workspaceId) !== i);
  if (again !== undefined) {
    throw invalidField(`${again.at}workspace_id`, 'invalid_value', 'names the same workspace as an entry before it.');
  }
}

const rankOf = ({ workspaces }: PersonMemberships, id: string): number =>
  ROLE_RANKS[workspaces.get(id)?.role ?? WorkspaceRole.UNSPECIFIED] ?? 0;

/**
 * Returns the caller's rank in a workspace of the agent's tenant. Throws if the caller cannot see the workspace or it
 * belongs to another tenant.
 */
function rankIn(
  agent: AgentRecord,
  workspaceId: string,
  at: string,
  person: PersonMemberships,
  { caller }: CallContext,
): number {
  const param = `${at}workspace_id`;
  const membership = person.workspaces.get(workspaceId);
  if (membership === undefined) throw NotFound({}, { param });
  if (membership.orgId !== agent.orgId) throw otherTenant(param);
  if (!reachesWorkspace(caller, workspaceId, membership.orgId || null)) {
    throw credentialOutOfScope(caller, membership.orgId || null);
  }
  if (!READERS.has(membership.role)) throw InsufficientRole({}, { param });
  return rankOf(person, workspaceId);
}

function otherTenant(param: string): AppError {
  return TenantBoundary({}, { param, message: 'The workspace belongs to another tenant than the agent.' });
}
