import { type CallContext, sooner } from '@commonplace/kit/rpc';
import { COUNTS_MS } from '../config.js';
import type { Parts } from '../parts.js';
import type { Workspace } from '../stores/workspaces.js';
import type { WorkspaceCounts } from '../wire/workspace.js';

/**
 * Returns the counts of workspaces by id; undefined if resources cannot be counted at the moment, since workspaces
 * can be shown without them.
 */
export async function countWorkspaces(
  parts: Parts,
  context: CallContext,
  workspaces: readonly Workspace[],
): Promise<Map<string, WorkspaceCounts> | undefined> {
  if (workspaces.length === 0) return new Map();
  const [resources, members] = await Promise.all([
    countResources(
      parts,
      context,
      workspaces.map(({ id }) => id),
    ),
    countMembers(parts, workspaces),
  ]);
  if (resources === undefined) return undefined;
  return new Map(workspaces.map(({ id }) => [id, { resources: resources[id] ?? 0, members: members.get(id) ?? 0 }]));
}

async function countResources(
  { index, log }: Parts,
  { onward }: CallContext,
  workspaceIds: string[],
): Promise<Record<string, number> | undefined> {
  const deadline = Math.min(onward.deadline, Date.now() + COUNTS_MS);
  try {
    return (await index.countResources({ workspaceIds }, sooner(onward, deadline))).counts;
  } catch (error) {
    log.warn('workspace.uncounted', { request_id: onward.metadata.requestId, error });
    return undefined;
  }
}

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
