import type { CallContext } from '@commonplace/kit/rpc';
import type { Node } from '../domain/node.js';
import { publishChange } from '../events.js';
import { enqueue } from '../nodes/subtree.js';
import type { TreeParts } from './parts.js';
import { purgeAll } from './trash.js';

interface EmptyTrashResult {
  readonly purged: number;
  readonly freedBytes: number;
  readonly running: boolean;
}

/**
 * Permanently deletes the trashed nodes of a workspace: the named heads with their batches, or everything. Leaves it to
 * a job above a limit, and while another job is still moving nodes of the workspace or its trash, or copying some of them.
 */
export async function emptyTrash(
  parts: TreeParts,
  workspaceId: string,
  named: readonly Node[] | undefined,
  olderThan: string | undefined,
  context: CallContext,
): Promise<EmptyTrashResult> {
  const limit = parts.settings.inlinePurge;
  const chosen = (named ?? (await allHeads(parts, workspaceId, limit + 1))).filter(
    (node) => olderThan === undefined || (node.trashedAt ?? '') < olderThan,
  );
  const nodes = await withBelow(parts, chosen, limit + 1);
  const ids = new Set(nodes.map(({ id }) => id));
  const place = { tenant: chosen[0]?.tenant ?? '', workspaceIds: [workspaceId] };
  const whole =
    !(await parts.tree.isRewritten(workspaceId)) && !(await parts.isCopyAwaited(place, ({ id }) => ids.has(id)));
  if (whole && nodes.length <= limit && chosen.length <= limit) return purgeNow(parts, nodes, context);
  const workspaceIds = [workspaceId];
  if (named === undefined) {
    const before = olderThan ?? new Date().toISOString();
    enqueue(parts, context, {
      kind: 'empty',
      tenant: chosen[0]?.tenant as string,
      headId: workspaceId,
      workspaceIds,
      before,
    });
  } else {
    for (const { id, tenant, batchId } of chosen) {
      enqueue(parts, context, { kind: 'purge', tenant, headId: id, workspaceIds, batchId });
    }
  }
  return { purged: 0, freedBytes: 0, running: true };
}

function allHeads(parts: TreeParts, workspaceId: string, limit: number): Promise<Node[]> {
  const where = { workspaceId, trashHead: true } as const;
  return parts.tree.nodes.find({ where, sort: ['trashedAt'], limit });
}

/** Returns the heads and the descendants of the same batch. Stops reading once there are `limit` nodes. */
async function withBelow(parts: TreeParts, heads: readonly Node[], limit: number): Promise<Node[]> {
  const all = new Map<string, Node>();
  for (const head of heads) {
    all.set(head.id, head);
    if ((head.trash?.descendants ?? 0) > 0 || head.trashHead !== true) {
      const where = { ancestors: { contains: head.id }, batchId: head.batchId as string } as const;
      for (const node of await parts.tree.nodes.find({ where, limit })) all.set(node.id, node);
    }
    if (all.size >= limit) break;
  }
  return [...all.values()];
}

async function purgeNow(parts: TreeParts, nodes: readonly Node[], context: CallContext): Promise<EmptyTrashResult> {
  const freedBytes = await purgeAll(parts, context.work, nodes);
  const [first, ...others] = nodes;
  if (first !== undefined) publishChange(context, { verb: 'resource.purged' }, first, others);
  return { purged: nodes.length, freedBytes, running: false };
}
