import type { CallContext } from '@commonplace/kit/rpc';
import { publishChange } from '../events.js';
import type { Parts } from '../parts.js';
import type { Node } from '../stores/nodes.js';
import { enqueue, isUnderWay } from './subtree.js';
import { purgeAll } from './trash.js';

export interface Emptied {
  readonly purged: number;
  readonly freedBytes: number;
  readonly running: boolean;
}

/**
 * Deletes for good what is in a workspace's trash: the heads given with what went with them, or
 * everything. Above a limit, and while something is still on its way into the trash, it goes on after the answer.
 */
export async function emptyTrash(
  parts: Parts,
  workspaceId: string,
  named: readonly Node[] | undefined,
  olderThan: string | undefined,
  context: CallContext,
): Promise<Emptied> {
  const limit = parts.settings.inlinePurge;
  const chosen = (named ?? (await allHeads(parts, workspaceId, limit + 1))).filter(
    (node) => olderThan === undefined || (node.trashedAt ?? '') < olderThan,
  );
  const nodes = await withBelow(parts, chosen, limit + 1);
  const heads = chosen.map(({ id }) => id);
  const whole = !(await isUnderWay(parts, 'trash', heads));
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

function allHeads(parts: Parts, workspaceId: string, limit: number): Promise<Node[]> {
  const where = { workspaceId, trashHead: true } as const;
  return parts.tree.nodes.find({ where, sort: ['trashedAt'], limit });
}

/** The heads, and what stands below each of the same batch; no more than `limit` in all. */
async function withBelow(parts: Parts, heads: readonly Node[], limit: number): Promise<Node[]> {
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

async function purgeNow(parts: Parts, nodes: readonly Node[], context: CallContext): Promise<Emptied> {
  const freedBytes = await purgeAll(parts, context.work, nodes);
  const [first, ...others] = nodes;
  if (first !== undefined) publishChange(context, { verb: 'resource.purged' }, first, others);
  return { purged: nodes.length, freedBytes, running: false };
}
