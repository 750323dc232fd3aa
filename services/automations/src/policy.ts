import { credentialOutOfScope, reachesWorkspace } from '@commonplace/kit/auth';
import { InsufficientRole, NotFound, WorkspaceArchived } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import {
  isWorkspaceRoleAtLeast,
  type MembershipCache,
  type PersonMemberships,
  refusalOfWorkspace,
  usableMemberships,
} from '@commonplace/platform/memberships';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import type { Shared } from './parts.js';

/** A workspace with the caller's role in it. */
export interface Place {
  /** The id of the Org, or of the workspace for a Personal tenant. */
  readonly tenant: string;
  /** Empty for a Personal tenant. */
  readonly orgId: string;
  readonly workspaceId: string;
  readonly role: WorkspaceRole;
  readonly archived: boolean;
}

export type Asking = Pick<CallContext, 'caller' | 'onward'>;

type PolicyParts = Pick<Shared, 'memberships'> & {
  /** Needed if a request names the workspace. */
  readonly peers?: Pick<Shared['peers'], 'directory'>;
};

type WithRole = Pick<Place, 'role'>;

export const mayRead = (place: WithRole | undefined): boolean =>
  isWorkspaceRoleAtLeast(place?.role, WorkspaceRole.VIEWER);
export const mayEdit = (place: WithRole | undefined): boolean =>
  isWorkspaceRoleAtLeast(place?.role, WorkspaceRole.EDITOR);
export const mayAdminister = (place: WithRole | undefined): boolean =>
  isWorkspaceRoleAtLeast(place?.role, WorkspaceRole.ADMIN);

/**
 * Returns a workspace that the caller can read. `param` is the request field that names it; it is absent for the
 * workspace of a record. Throws `NotFound` for an unknown workspace and for guests who ask for a record,
 * `InsufficientRole` for guests who name the workspace, and the error for a credential that does not reach it.
 */
export async function readPlace(
  parts: PolicyParts,
  workspaceId: string,
  asking: Asking,
  param?: string,
): Promise<Place> {
  const { memberships } = parts;
  const { caller } = asking;
  const person = await placesOf(memberships, asking, ({ workspaces }) => mayRead(workspaces.get(workspaceId)));
  const workspace = person.workspaces.get(workspaceId);
  if (workspace === undefined) {
    // Nobody learns from the id of a record that its workspace exists.
    if (param === undefined || parts.peers === undefined) throw NotFound();
    throw await refusalOfWorkspace(parts.peers.directory, workspaceId, person, asking, param);
  }
  const { orgId, role, archived } = workspace;
  if (!reachesWorkspace(caller, workspaceId, orgId || null)) throw credentialOutOfScope(caller, orgId || null);
  if (!mayRead(workspace)) throw param === undefined ? NotFound() : InsufficientRole();
  return { tenant: orgId || workspaceId, orgId, workspaceId, role, archived };
}

/**
 * Returns a workspace that the caller can edit. Throws the errors of `readPlace`, `InsufficientRole` and
 * `workspace_archived`.
 */
export async function editPlace(
  parts: PolicyParts,
  workspaceId: string,
  asking: Asking,
  param?: string,
): Promise<Place> {
  const place = await readPlace(parts, workspaceId, asking, param);
  if (!mayEdit(place)) throw InsufficientRole();
  if (place.archived) throw WorkspaceArchived();
  return place;
}

/**
 * Returns the ids of the workspaces whose automations, schedules and work items the caller can read. Cached memberships
 * are read again unless they contain the workspaces in `expected`.
 */
export async function readableWorkspaces(
  { memberships }: Pick<PolicyParts, 'memberships'>,
  asking: Asking,
  expected: readonly string[] = [],
): Promise<string[]> {
  const { workspaces } = await placesOf(memberships, asking, (known) =>
    expected.every((id) => mayRead(known.workspaces.get(id))),
  );
  return [...workspaces.values()]
    .filter((place) => mayRead(place) && reachesWorkspace(asking.caller, place.workspaceId, place.orgId || null))
    .map(({ workspaceId }) => workspaceId);
}

/** Returns the memberships that the caller can use. If the cached ones do not suffice, it reads them again. */
async function placesOf(
  memberships: MembershipCache,
  { caller, onward }: Asking,
  suffices: (person: PersonMemberships) => boolean,
): Promise<PersonMemberships> {
  const known = await usableMemberships(caller, (id) => memberships.of(id, onward));
  return suffices(known) ? known : usableMemberships(caller, (id) => memberships.fresh(id, onward));
}
