import type { CallContext } from '@commonplace/kit/rpc';
import { findInPages } from '@commonplace/kit/store';
import { WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import type { Node } from '../domain/node.js';
import { attachedTo, moveTo, placeUnder, replaceBelow, restored, rootPlace } from '../domain/tree.js';
import { publishChange } from '../events.js';
import { countArrival } from '../nodes/arrivals.js';
import { replaceNode, replaceNodes } from '../nodes/replace.js';
import { announce, enqueue, jobsBelow } from '../nodes/subtree.js';
import { type AccessSubject, requireWorkspaceRole } from '../policy.js';
import { moveGrants } from '../sharing/grants.js';
import { type Destination, intoParent, requireNoCycle } from './destination.js';
import { descendantsOf, takenIds, withFreeKeys } from './external-keys.js';
import type { TreeParts } from './parts.js';
import { requireDepth } from './place.js';
import { reservePlaces } from './reserve.js';
import { positionFor } from './siblings.js';
import { liveHome } from './trash.js';

interface RestoreResult {
  readonly node: Node;
  readonly restoredCount: number;
  readonly relocated: boolean;
}

/** Restores a node with the batch that was trashed with it: to its previous parent if that still exists. */
export async function restoreNode(
  parts: TreeParts,
  node: Node,
  wanted: string | undefined,
  subject: AccessSubject,
  context: CallContext,
): Promise<RestoreResult> {
  const { destination, relocated } = await homeOf(parts, node, wanted, subject, context);
  await requireNoCycle(parts, node.id, destination, context);
  // Nodes that a job is still moving into the trash are restored by a job, as are late ones that its sweep finds.
  const trashing = await jobsBelow(parts, 'trash', [node.id]);
  const batch = trashing.some(({ sweep }) => sweep !== true) ? 'large' : await batchBelow(parts, node);
  const height = await requireDepth(parts, node, destination, batch === 'large' ? batch : { nodes: batch });
  const workspaceIds = [...new Set([node.workspaceId, destination.parent.workspaceId])];
  const job = { kind: 'restore', workspaceIds, batchId: node.batchId as string } as const;
  const below = batch === 'large' ? (node.trash?.descendants ?? 0) : batch.length;
  const reserved = { workspaceId: destination.parent.workspaceId, resources: below };
  await reservePlaces(parts, destination, context.work, { id: node.id, resources: 1 + below });
  await countArrival(parts.arrivals, context.work, { workspaceId: destination.parent.workspaceId, height });
  await warnOfTakenIds(parts, node, batch, destination.parent.workspaceId, context);
  if (batch === 'large') await announce(parts, context, node, { ...job, reserved });
  else if (trashing.length > 0) enqueue(parts, context, { ...job, tenant: node.tenant, headId: node.id, sweep: true });
  const position = relocated ? await positionFor(parts.tree, destination.key, { at: 'last' }, context) : node.position;
  const { parent } = destination;
  const moved = attachedTo(parent, moveTo(node, placeUnder(parent, node), destination.key));
  const [back = node] = await withFreeKeys(parts, [restored({ ...moved, position })]);
  await moveGrants(parts, context.work, node, back);
  const head = replaceNode(parts, context.work, node, back);
  const others = batch === 'large' ? [] : await restoreBelow(parts, head, batch, context);
  publishChange(context, { verb: 'resource.restored' }, head, others);
  return { node: head, restoredCount: 1 + below, relocated };
}

/** Number of external ids that a warning names. */
const MAX_NAMED_IDS = 10;

/** Warns of external ids that other resources have taken since, which the restored ones therefore lose. */
async function warnOfTakenIds(
  parts: TreeParts,
  node: Node,
  batch: readonly Node[] | 'large',
  workspaceId: string,
  { reply }: CallContext,
): Promise<void> {
  const taken = await takenIds(parts, [node, ...(batch === 'large' ? [] : batch)], workspaceId);
  if (batch === 'large') {
    for await (const nodes of descendantsOf(parts, node)) {
      const own = nodes.filter(({ state, batchId }) => state === 'active' || batchId === node.batchId);
      taken.push(...(await takenIds(parts, own, workspaceId)));
    }
  }
  if (taken.length === 0) return;
  const named = taken.slice(0, MAX_NAMED_IDS).join(', ');
  const more = taken.length > MAX_NAMED_IDS ? ' and others' : '';
  const message = `Other resources have taken the external ids ${named}${more}: what was restored is without them.`;
  reply.warnings = [...(reply.warnings ?? []), { code: 'external_id_cleared', message }];
}

/** Returns the parent to restore a node to: the requested one, the previous one, or the nearest live ancestor. */
async function homeOf(
  parts: TreeParts,
  node: Node,
  wanted: string | undefined,
  subject: AccessSubject,
  context: CallContext,
): Promise<{ destination: Destination; relocated: boolean }> {
  if (wanted !== undefined) {
    const destination = await intoParent(parts, wanted, subject, context);
    return { destination, relocated: wanted !== node.parentKey };
  }
  const { id, relocated } = await liveHome(parts, node);
  if (id === undefined) return { destination: await root(parts, node, subject, context), relocated };
  if (!relocated) {
    const parent = (await parts.tree.get(id, context.work)) as Node;
    context.work.expect(parts.tree.nodes, parent);
    return { destination: { parent, node: parent, key: id, depth: parent.ancestors.length + 1 }, relocated };
  }
  return { destination: await intoParent(parts, id, subject, context), relocated };
}

async function root(parts: TreeParts, node: Node, subject: AccessSubject, context: CallContext): Promise<Destination> {
  const membership = await parts.policy.enter(node.workspaceId, subject, context);
  requireWorkspaceRole(membership, WorkspaceRole.EDITOR);
  return { parent: rootPlace(node.workspaceId, node.orgId), key: node.workspaceId, depth: 0 };
}

/** Number of nodes that one query reads. */
const PAGE = 200;

/** Returns the descendants that were trashed together with a node, or `large` if they are too many for one request. */
async function batchBelow(parts: TreeParts, node: Node): Promise<Node[] | 'large'> {
  if (await parts.tree.isRewritten(node.workspaceId)) return 'large';
  const limit = parts.settings.inlineSubtree;
  const where = { ancestors: { contains: node.id }, batchId: node.batchId as string } as const;
  const found = await findInPages(parts.tree.nodes, { where, limit }, PAGE);
  return found.length < limit ? found : 'large';
}

async function restoreBelow(
  parts: TreeParts,
  head: Node,
  batch: readonly Node[],
  context: CallContext,
): Promise<Node[]> {
  const places = new Map(replaceBelow(head, batch).map(({ node, place }) => [node.id, place]));
  const live = await withFreeKeys(
    parts,
    batch.map((node) => restored(moveTo(node, places.get(node.id) ?? node, node.parentKey))),
    head,
  );
  const changes = batch.map((node, i) => ({ before: node, after: live[i] as Omit<Node, 'version'> }));
  for (const { before, after } of changes) await moveGrants(parts, context.work, before, after);
  return replaceNodes(parts, context.work, changes);
}
