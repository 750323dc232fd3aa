import { credentialOutOfScope, reachesWorkspace, workspacesReached } from '@commonplace/kit/auth';
import {
  type AppError,
  InsufficientRole,
  invalidField,
  LimitReached,
  NotFound,
  TenantBoundary,
  WorkspaceArchived,
} from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import { agentRoleName, isWorkspaceRoleAtLeast, type PersonMemberships } from '@commonplace/platform/memberships';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import type { Parts } from '../parts.js';
import { isReader } from '../policy.js';
import type { AgentPlace, AgentRecord, AgentRole } from '../stores/agents.js';

const isAdmin = (role: WorkspaceRole | undefined): boolean => isWorkspaceRoleAtLeast(role, WorkspaceRole.ADMIN);

const isLower = (role: AgentRole, than: AgentRole): boolean =>
  !isWorkspaceRoleAtLeast(agentRoleName(role), agentRoleName(than));

/** Returns the workspaces of an agent that the caller can see with their credential. */
export function seenPlaces(
  { places }: Pick<AgentRecord, 'places'>,
  { workspaces }: PersonMemberships,
  { caller }: Pick<CallContext, 'caller'>,
): readonly AgentPlace[] {
  const only = workspacesReached(caller);
  return places.filter(({ workspaceId: id }) => workspaces.has(id) && (only === undefined || only.includes(id)));
}

/** A workspace and role in a request, with the fields that name them. */
export interface GivenPlace extends AgentPlace {
  readonly idParam: string;
  readonly roleParam: string;
}

/**
 * Returns the workspaces and roles of an agent after a request. The owner may remove workspaces, add them as viewer and
 * lower roles; raising a role above viewer takes an administrator of the workspace. A caller who is not the owner may
 * change the agent only in workspaces that they administer; workspaces that they cannot see are kept. So are, for every
 * caller, those that their credential or request does not reach, as their lists do not show them.
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
  for (const { workspaceId, role, idParam, roleParam } of given) {
    const held = readableRole(agent, workspaceId, idParam, person, context);
    if (before.get(workspaceId) === role) continue;
    const present = before.get(workspaceId);
    const ownerMayGive = isOwner && (role === 'viewer' || (present !== undefined && isLower(role, present)));
    if (!ownerMayGive && !isAdmin(held)) throw InsufficientRole({}, { param: roleParam });
    if (person.workspaces.get(workspaceId)?.archived === true) throw WorkspaceArchived();
  }
  const named = new Set(given.map(({ workspaceId }) => workspaceId));
  const only = workspacesReached(context.caller);
  const isKept = ({ workspaceId: id }: AgentPlace): boolean =>
    (only !== undefined && !only.includes(id)) || (!isOwner && !person.workspaces.has(id));
  const left = agent.places.filter(({ workspaceId }) => !named.has(workspaceId));
  const kept = left.filter(isKept);
  const mayRemove = (place: AgentPlace): boolean => isOwner || isAdmin(person.workspaces.get(place.workspaceId)?.role);
  if (!left.every((place) => isKept(place) || mayRemove(place))) throw InsufficientRole();
  const after = [...kept, ...given.map(({ workspaceId, role }) => ({ workspaceId, role }))];
  const limit = settings.agentWorkspaces;
  if (after.length > limit) throw LimitReached({ limit, what: 'workspaces of one agent' });
  return after.sort((a, b) => (a.workspaceId < b.workspaceId ? -1 : 1));
}

function requireOnce(given: readonly GivenPlace[]): void {
  const ids = given.map(({ workspaceId }) => workspaceId);
  const again = given.find(({ workspaceId }, i) => ids.indexOf(workspaceId) !== i);
  if (again !== undefined) {
    throw invalidField(again.idParam, 'invalid_value', 'names the same workspace as an entry before it.');
  }
}

/**
 * Returns the caller's role in a workspace of the agent's tenant. Throws if the caller cannot read the workspace or it
 * belongs to another tenant.
 */
function readableRole(
  agent: AgentRecord,
  workspaceId: string,
  param: string,
  person: PersonMemberships,
  { caller }: CallContext,
): WorkspaceRole {
  const membership = person.workspaces.get(workspaceId);
  if (membership === undefined) throw NotFound({}, { param });
  if (membership.orgId !== agent.orgId) throw otherTenant(param);
  if (!reachesWorkspace(caller, workspaceId, membership.orgId || null)) {
    throw credentialOutOfScope(caller, membership.orgId || null);
  }
  if (!isReader(membership.role)) throw InsufficientRole({}, { param });
  return membership.role;
}

function otherTenant(param: string): AppError {
  return TenantBoundary({}, { param, message: 'The workspace belongs to another tenant than the agent.' });
}
