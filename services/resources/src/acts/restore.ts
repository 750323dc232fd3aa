import type { CallContext } from '@commonplace/kit/rpc';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { attachedTo, moveTo, placeUnder, replaceBelow, rootPlace } from '../domain/tree.js';
import { publishChange } from '../events.js';
import type { Parts } from '../parts.js';
import { requireWorkspaceRole, type Standing } from '../policy.js';
import type { Node } from '../stores/nodes.js';
import { type Destination, intoParent } from './destination.js';
import { moveGrants } from './grants.js';
import { positionFor } from './siblings.js';
import { announce, enqueue, jobsBelow } from './subtree.js';
import { freeExternalKey, liveHome, restored } from './trash.js';

export interface Restored {
  readonly node: Node;
  readonly restoredCount: number;
  readonly relocated: boolean;
}

/** Brings a node back with what was trashed together with it: to its old place, if that is still there. */
export async function restoreNode(
  parts: Parts,
  node: Node,
  wanted: string | undefined,
  standing: Standing,
  context: CallContext,
): Promise<Restored> {
  const { destination, relocated } = await homeOf(parts, node, wanted, standing, context);
  // What is still on its way into the trash is brought back by a job, as are latecomers that are swept up after it.
  const trashing = await jobsBelow(parts, 'trash', [node.id]);
  const batch = trashing.some(({ sweep }) => sweep !== true) ? 'large' : await batchBelow(parts, node);
  const workspaceIds = [...new Set([node.workspaceId, destination.parent.workspaceId])];
  const job = { kind: 'restore', workspaceIds, batchId: node.batchId as string } as const;
  if (batch === 'large') await announce(parts, context, node, job);
  else if (trashing.length > 0) enqueue(parts, context, { ...job, tenant: node.tenant, headId: node.id, sweep: true });
  const position = relocated
    ? await positionFor(parts.tree, destination.key, { at: 'last' }, context.work)
    : node.position;
  const { parent } = destination;
  const moved = attachedTo(parent, moveTo(node, placeUnder(parent, node), destination.key));
  const back = restored({ ...moved, position }, await freeExternalKey(parts, moved));
  await moveGrants(parts, context.work, node, back);
  const head = context.work.replace(parts.tree.nodes, node, back);
  parts.counters.add(context.work, [head], 1);
  const below = batch === 'large' ? [] : await restoreBelow(parts, head, batch, context);
  publishChange(context, { verb: 'resource.restored' }, head, below);
  const count = batch === 'large' ? (node.trash?.descendants ?? 0) : below.length;
  return { node: head, restoredCount: 1 + count, relocated };
}

/** Where a node goes back to: the place asked for, its old one, or the nearest that lives. */
async function homeOf(
  parts: Parts,
  node: Node,
  wanted: string | undefined,
  standing: Standing,
  context: CallContext,
): Promise<{ destination: Destination; relocated: boolean }> {
  if (wanted !== undefined) {
    return { destination: await intoParent(parts, wanted, standing, context), relocated: wanted !== node.parentKey };
  }
  const { id, relocated } = await liveHome(parts, node);
  if (id === undefined) return { destination: await root(parts, node, standing, context), relocated };
  if (!relocated) {
    const parent = (await parts.tree.get(id, context.work)) as Node;
    context.work.expect(parts.tree.nodes, parent);
    return { destination: { parent, key: id, depth: parent.ancestors.length + 1 }, relocated };
  }
  return { destination: await intoParent(parts, id, standing, context), relocated };
}

async function root(parts: Parts, node: Node, standing: Standing, context: CallContext): Promise<Destination> {
  const membership = await parts.policy.enter(node.workspaceId, standing, context);
  requireWorkspaceRole(membership, WorkspaceRole.EDITOR);
  return { parent: rootPlace(node.workspaceId, node.orgId), key: node.workspaceId, depth: 0 };
}

/** The nodes below that went into the trash together with this one. */
async function batchBelow(parts: Parts, node: Node): Promise<Node[] | 'large'> {
  const limit = parts.settings.inlineSubtree;
  const where = { ancestors: { contains: node.id }, batchId: node.batchId as string } as const;
  const found = await parts.tree.nodes.find({ where, limit });
  return found.length < limit ? found : 'large';
}

async function restoreBelow(parts: Parts, head: Node, batch: readonly Node[], context: CallContext): Promise<Node[]> {
  const places = new Map(replaceBelow(head, batch).map(({ node, place }) => [node.id, place]));
  const back: Node[] = [];
  for (const node of batch) {
    const moved = moveTo(node, places.get(node.id) ?? node, node.parentKey);
    const key = await freeExternalKey(parts, moved);
    await moveGrants(parts, context.work, node, moved);
    back.push(context.work.replace(parts.tree.nodes, node, restored(moved, key)));
  }
  parts.counters.add(context.work, back, 1);
  return back;
}
