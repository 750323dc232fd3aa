import type { CallContext } from '@commonplace/kit/rpc';
import type { UpdateResourceRequest } from '@commonplace/proto/resources/v1/resource_service.js';
import { MAX_DEPTH } from '../config.js';
import { reachOfGrants } from '../domain/access.js';
import { parseWish } from '../domain/position.js';
import { publicName } from '../domain/principals.js';
import { attachedTo, heightBelow, moveTo, placeUnder, replaceBelow } from '../domain/tree.js';
import { CycleDetected, DepthExceeded } from '../errors.js';
import type { Parts } from '../parts.js';
import type { Standing } from '../policy.js';
import type { Counted } from '../stores/counters.js';
import { isExpired } from '../stores/grants.js';
import { type Node, parentId } from '../stores/nodes.js';
import { type Destination, intoParent, intoRoot, requireSameTenant, requireSameWorkspace } from './destination.js';
import { grantsOn, moveGrants } from './grants.js';
import { positionFor } from './siblings.js';
import type { Below } from './subtree.js';

/** Whether a request asks for another place. */
export function moves(request: UpdateResourceRequest, mask: ReadonlySet<string>): boolean {
  return mask.has('parent_id') || request.workspaceId !== undefined || mask.has('position');
}

/** Where a node is asked to go: its own parent again, where only its position is to change. */
export async function newHome(
  parts: Parts,
  node: Node,
  request: UpdateResourceRequest,
  mask: ReadonlySet<string>,
  standing: Standing,
  context: CallContext,
): Promise<Destination> {
  const asked = mask.has('parent_id') ? request.parentId : undefined;
  const stays = !mask.has('parent_id') && (request.workspaceId ?? node.workspaceId) === node.workspaceId;
  const parent = stays ? parentId(node) : asked;
  if (parent === undefined) return intoRoot(parts, request.workspaceId ?? node.workspaceId, standing, context);
  if (parent === node.id) throw CycleDetected();
  const destination = await intoParent(parts, parent, standing, context, request.dryRun);
  requireSameWorkspace(destination, request.workspaceId);
  return destination;
}

/** The node at its new home, with its order key there. */
export async function placed(
  parts: Parts,
  node: Node,
  destination: Destination,
  request: UpdateResourceRequest,
  context: CallContext,
): Promise<Omit<Node, 'version'>> {
  requireSameTenant(node, destination);
  const { parent } = destination;
  if (parent.id === node.id || parent.ancestors.includes(node.id)) throw CycleDetected();
  const samePlace = destination.key === node.parentKey && request.position.length === 0;
  const position = samePlace
    ? node.position
    : await positionFor(parts.tree, destination.key, parseWish(request.position), context.work);
  return { ...attachedTo(parent, moveTo(node, placeUnder(parent, node), destination.key)), position };
}

/** Refuses a tree that would be too deep; of a large subtree only the head's own depth is known. */
export function requireDepth(node: Node, destination: Destination, below: Below): void {
  const height = below === 'large' ? 0 : heightBelow(node, below.nodes);
  if (destination.depth + 1 + height > MAX_DEPTH) throw DepthExceeded({ limit: MAX_DEPTH });
}

/** Rewrites what all below a head say of their place; the counters follow the live ones. */
export async function rewriteBelow(
  parts: Parts,
  head: Omit<Node, 'version'>,
  nodes: readonly Node[],
  context: Pick<CallContext, 'work'>,
): Promise<Node[]> {
  const written: Node[] = [];
  for (const { node, place } of replaceBelow(head, nodes)) {
    const moved = moveTo(node, place, node.parentKey);
    recount(parts, context, node, moved);
    await moveGrants(parts, context.work, node, moved);
    written.push(context.work.replace(parts.tree.nodes, node, moved));
  }
  return written;
}

/** Counts a live node as it is now: by its boundary, workspace and tags. */
export function recount(parts: Parts, context: Pick<CallContext, 'work'>, before: Node, after: Counted): void {
  if (before.state === 'active') parts.counters.move(context.work, before, after);
}

/** The principals whose access a node gains or loses with a place; its own grants go with it. */
export async function accessChange(parts: Parts, before: Node, after: Omit<Node, 'version'>) {
  const [old, now] = await Promise.all([readers(parts, before), readers(parts, after)]);
  return { gained: now.filter((one) => !old.includes(one)), lost: old.filter((one) => !now.includes(one)) };
}

async function readers(parts: Parts, node: Omit<Node, 'version'>): Promise<string[]> {
  const now = new Date().toISOString();
  const above = reachOfGrants(node).filter((id) => id !== node.id);
  const names = node.boundary === node.workspaceId ? [`workspace:${node.workspaceId}`] : [];
  for (const resourceId of above) {
    const grants = (await grantsOn(parts, { id: resourceId })).filter((grant) => !isExpired(grant, now));
    names.push(...grants.map(({ principal }) => publicName(principal)));
  }
  return [...new Set(names)];
}
