import type { CallContext } from '@commonplace/kit/rpc';
import {
  findPage,
  isWithinTimes,
  namedSort,
  pageOfAll,
  parsePageRequest,
  type Sort,
  type TimeFilters,
  timesWithin,
  type Where,
} from '@commonplace/kit/store';
import { foldName } from '@commonplace/kit/words';
import type { Page } from '@commonplace/proto/api/v1/page.js';
import { type ListWorkspacesRequest, WorkspaceStateFilter } from '@commonplace/proto/tenancy/v1/workspace_service.js';
import { effectiveRole, orgRoleAtLeast } from '../domain/roles.js';
import type { Parts } from '../parts.js';
import type { OrgAccess } from '../policy.js';
import type { Workspace } from '../stores/workspaces.js';
import { joinedWorkspaces, type SeenWorkspace } from './seen.js';

interface WorkspacePage {
  readonly items: readonly SeenWorkspace[];
  readonly page: Page;
}

type Filter = Pick<ListWorkspacesRequest, 'state' | 'q'> & TimeFilters;

/**
 * Returns a page of the workspaces that a caller sees in a tenant: `inOrg`, or the Personal one. An administrator
 * whose credential is not limited to workspaces sees the whole Org, read through its indexes. Everybody else sees a
 * set that is small by its nature, and it is sorted in memory.
 */
export async function listWorkspaces(
  parts: Parts,
  context: CallContext,
  request: ListWorkspacesRequest,
  inOrg: OrgAccess | undefined,
): Promise<WorkspacePage> {
  const { caller } = context;
  const slice = parsePageRequest(request.page);
  const sort = namedSort(request.sort, ['createdAt']);
  const narrowed = caller.workspaceId !== undefined || caller.credential.workspaceIds !== undefined;
  const administers = inOrg !== undefined && orgRoleAtLeast(inOrg.member.role, 'admin');
  if (administers && !narrowed) return listAll(parts, request, sort, inOrg);
  const joined = await joinedWorkspaces(parts, caller, inOrg);
  const seen = administers ? await withNamed(parts, context, joined, inOrg) : joined;
  const roles = new Map(seen.map(({ workspace, role }) => [workspace.id, role]));
  const wanted = seen.map(({ workspace }) => workspace).filter((workspace) => matches(workspace, request));
  const { items, page } = pageOfAll(slice, wanted, sort);
  return { items: items.map((workspace) => ({ workspace, role: roles.get(workspace.id) })), page };
}

function matches(workspace: Workspace, { state: wanted, q, ...times }: Filter): boolean {
  const named = stateOf(wanted);
  return (
    (named === undefined || workspace.state === named) &&
    (q === '' || workspace.nameFold.includes(foldName(q))) &&
    isWithinTimes(workspace, times)
  );
}

function stateOf(filter: WorkspaceStateFilter): Workspace['state'] | undefined {
  if (filter === WorkspaceStateFilter.ALL) return undefined;
  return filter === WorkspaceStateFilter.ARCHIVED ? 'archived' : 'active';
}

/** Adds the workspaces that a limited credential names. An administrator sees them without having joined. */
async function withNamed(
  { workspaces }: Parts,
  { caller }: CallContext,
  joined: readonly SeenWorkspace[],
  { org }: OrgAccess,
): Promise<SeenWorkspace[]> {
  const { workspaceIds } = caller.credential;
  const { workspaceId } = caller;
  const named = workspaceIds ?? (workspaceId === undefined ? [] : [workspaceId]);
  const reached = named.filter((id) => workspaceId === undefined || id === workspaceId);
  const known = new Set(joined.map(({ workspace }) => workspace.id));
  const others = await workspaces.records.getMany(reached.filter((id) => !known.has(id)));
  const unjoined = others.filter(({ orgId }) => orgId === org.id).map((workspace) => ({ workspace, role: undefined }));
  return [...joined, ...unjoined];
}

async function listAll(
  { workspaces, workspaceMembers }: Parts,
  { state, q, page: pageRequest, ...times }: ListWorkspacesRequest,
  sort: Sort<Workspace>,
  { org, member }: OrgAccess,
): Promise<WorkspacePage> {
  const where = { ...orgWorkspaces(org.id, stateOf(state), q), ...timesWithin(times) };
  const total = await workspaces.records.count(where);
  const { items, page } = await findPage(workspaces.records, where, sort, pageRequest, total);
  const places = await workspaceMembers.ofPersonIn(
    items.map(({ id }) => id),
    member.userId ?? '',
  );
  const own = new Map(places.filter(({ status }) => status === 'active').map((one) => [one.workspaceId, one.role]));
  const withRole = (workspace: Workspace) => effectiveRole(own.get(workspace.id), workspace.defaultRole, member.role);
  return { items: items.map((workspace) => ({ workspace, role: withRole(workspace) })), page };
}

const STATES = ['active', 'archived'] as const;

/** Returns the query of an administrator's list. It always names states, which the indexes of each order contain. */
function orgWorkspaces(orgId: string, state: Workspace['state'] | undefined, q: string): Where<Workspace> {
  return {
    orgId,
    state: { in: state === undefined ? STATES : [state] },
    ...(q === '' ? {} : { nameFold: { substring: foldName(q) } }),
  };
}
