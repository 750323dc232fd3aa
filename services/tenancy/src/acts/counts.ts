import { type CallContext, sooner } from '@commonplace/kit/rpc';
import { COUNTS_MS } from '../config.js';
import { workspaceRoleAtLeast } from '../domain/roles.js';
import type { Parts } from '../parts.js';
import type { Workspace } from '../stores/workspaces.js';
import type { WorkspaceCounts } from '../wire/workspace.js';
import type { SeenWorkspace } from './seen.js';

/**
 * Returns the counts of workspaces by id; undefined if resources cannot be counted at the moment, since workspaces
 * can be shown without them. The resources are those that the caller can read. Administrators of the Org who have not
 * joined a workspace are told the number of all.
 */
export async function countWorkspaces(
  parts: Parts,
  context: CallContext,
  seen: readonly SeenWorkspace[],
): Promise<Map<string, WorkspaceCounts> | undefined> {
  if (seen.length === 0) return new Map();
  const workspaces = seen.map(({ workspace }) => workspace);
  const [resources, members] = await Promise.all([
    countResources(parts, context, seen),
    countMembers(parts, workspaces),
  ]);
  if (resources === undefined) return undefined;
  return new Map(workspaces.map(({ id }) => [id, { resources: resources[id] ?? 0, members: members.get(id) ?? 0 }]));
}

async function countResources(
  { index, log }: Parts,
  { caller, onward }: CallContext,
  seen: readonly SeenWorkspace[],
): Promise<Record<string, number> | undefined> {
  const deadline = Math.min(onward.deadline, Date.now() + COUNTS_MS);
  const limited = seen.filter(({ role }) => role !== undefined && !workspaceRoleAtLeast(role, 'admin'));
  const request = { workspaceIds: idsOf(seen), readableIds: idsOf(caller.agent === undefined ? limited : seen) };
  try {
    return (await index.countResources(request, sooner(onward, deadline))).counts;
  } catch (error) {
    log.warn('workspace.uncounted', { request_id: onward.metadata.requestId, error });
    return undefined;
  }
}

const idsOf = (seen: readonly SeenWorkspace[]): string[] => seen.map(({ workspace }) => workspace.id);

/**
 * Returns the number of members by workspace: people with their own membership and people included by `default_role`.
 */
async function countMembers(
  { orgMembers, workspaceMembers }: Parts,
  workspaces: readonly Workspace[],
): Promise<Map<string, number>> {
  const closed = workspaces.filter(({ defaultRole }) => defaultRole === undefined).map(({ id }) => id);
  const open = workspaces.filter(({ defaultRole }) => defaultRole !== undefined);
  const orgIds = [...new Set(open.flatMap(({ orgId }) => orgId ?? []))];
  const [own, guests, full] = await Promise.all([
    closed.length === 0 ? new Map<string, number>() : workspaceMembers.countActive(closed, false),
    open.length === 0
      ? new Map<string, number>()
      : workspaceMembers.countActive(
          open.map(({ id }) => id),
          true,
        ),
    Promise.all(orgIds.map(async (id) => [id, await orgMembers.countFull(id)] as const)),
  ]);
  const byOrg = new Map(full);
  const opened = open.map(({ id, orgId = '' }) => [id, (byOrg.get(orgId) ?? 0) + (guests.get(id) ?? 0)] as const);
  return new Map([...own, ...opened]);
}
