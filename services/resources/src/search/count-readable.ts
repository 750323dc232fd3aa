import type { CallContext } from '@commonplace/kit/rpc';
import type { AccessSubject } from '../policy.js';
import { visibleWhere } from '../tree/visible.js';
import type { SearchParts } from './parts.js';

/**
 * Returns the number of live resources that the caller can read, by the ids of workspaces that the caller belongs to.
 * `totals` has the numbers of all live resources in them.
 */
export async function countReadable(
  parts: SearchParts,
  totals: ReadonlyMap<string, number>,
  workspaceIds: readonly string[],
  context: CallContext,
): Promise<Map<string, number>> {
  const filled = workspaceIds.filter((id) => (totals.get(id) ?? 0) > 0);
  if (filled.length === 0) return new Map();
  const subject = await parts.policy.subject(context);
  // A workspace that is not among the cached memberships was joined since.
  if (filled.some((id) => !subject.own.workspaces.has(id))) await subject.refresh();
  const counts = filled.map(async (id) => [id, await countIn(parts, id, totals.get(id) as number, subject)] as const);
  return new Map(await Promise.all(counts));
}

async function countIn(parts: SearchParts, workspaceId: string, total: number, subject: AccessSubject) {
  const { nodes } = parts.tree;
  const { boundaries, granted, where } = await visibleWhere(parts, workspaceId, subject);
  if (boundaries === undefined) return total;
  const live = { workspaceId, state: 'active', ...where } as const;
  if (granted.length > 0) return nodes.count(live);
  const counted = await parts.counters.inWorkspace(workspaceId, boundaries);
  const { attachments } = counted;
  // Attachments are counted by workspace alone. If nothing is hidden, all of them can be read.
  if (attachments === 0 || counted.nodes + attachments === total) return counted.nodes + attachments;
  return counted.nodes + (await nodes.count({ ...live, type: 'file', attachment: { exists: true } }));
}
