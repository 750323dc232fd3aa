import type { CallContext } from '@commonplace/kit/rpc';
import type { UnitOfWork } from '@commonplace/kit/store';
import type { UpdateResourceRequest } from '@commonplace/proto/resources/v1/resource_service.js';
import { MAX_DEPTH } from '../config.js';
import { reachOfGrants } from '../domain/access.js';
import { isExpired } from '../domain/grant.js';
import { type Node, parentId } from '../domain/node.js';
import { publicName } from '../domain/principals.js';
import { attachedTo, heightBelow, moveTo, placeUnder, replaceBelow } from '../domain/tree.js';
import { CycleDetected, DepthExceeded } from '../errors.js';
import type { TreeJob } from '../nodes/jobs.js';
import { type NodeChange, replaceNodes } from '../nodes/replace.js';
import type { Below } from '../nodes/subtree.js';
import type { AccessSubject } from '../policy.js';
import { grantsOn, moveGrants } from '../sharing/grants.js';
import {
  type Destination,
  intoParent,
  intoRoot,
  requireNoCycle,
  requireSameTenant,
  requireSameWorkspace,
} from './destination.js';
import { descendantsOf, withFreeKeys } from './external-keys.js';
import type { TreeParts } from './parts.js';
import { reservePlaces } from './reserve.js';
import { requestedPosition } from './siblings.js';

/** Returns whether a request moves the node. */
export function moves(request: UpdateResourceRequest, mask: ReadonlySet<string>): boolean {
  return mask.has('parent_id') || request.workspaceId !== undefined || mask.has('position');
}

/** Returns the destination that a request names; the current parent if only the position changes. */
export async function newHome(
  parts: TreeParts,
  node: Node,
  request: UpdateResourceRequest,
  mask: ReadonlySet<string>,
  subject: AccessSubject,
  context: CallContext,
): Promise<Destination> {
  const asked = mask.has('parent_id') ? request.parentId : undefined;
  const stays = !mask.has('parent_id') && (request.workspaceId ?? node.workspaceId) === node.workspaceId;
  const parent = stays ? parentId(node) : asked;
  if (parent === undefined) return intoRoot(parts, request.workspaceId ?? node.workspaceId, subject, context);
  if (parent === node.id) throw CycleDetected();
  const destination = await intoParent(parts, parent, subject, context, request.dryRun);
  requireSameWorkspace(destination, request.workspaceId);
  return destination;
}

/** Returns the node at its destination, with its sort key there. Throws `cycle_detected`. */
export async function placed(
  parts: TreeParts,
  node: Node,
  destination: Destination,
  request: UpdateResourceRequest,
  subject: AccessSubject,
  context: CallContext,
): Promise<Omit<Node, 'version'>> {
  requireSameTenant(node, destination);
  const { parent } = destination;
  if (destination.key !== node.parentKey) await requireNoCycle(parts, node.id, destination, context, request.dryRun);
  const samePlace = destination.key === node.parentKey && request.position.length === 0;
  const position = samePlace
    ? node.position
    : await requestedPosition(parts, destination.key, request.position, subject, context, {
        id: node.id,
        dryRun: request.dryRun,
      });
  return { ...attachedTo(parent, moveTo(node, placeUnder(parent, node), destination.key)), position };
}

/** Returns the number of levels below a head. Throws `depth_exceeded` if the tree would be too deep. */
export async function requireDepth(
  parts: TreeParts,
  node: Node,
  destination: Destination,
  below: Below,
): Promise<number> {
  const height = below === 'large' ? await heightOf(parts, node) : heightBelow(node, below.nodes);
  if (destination.depth + 1 + height > MAX_DEPTH) throw DepthExceeded({ limit: MAX_DEPTH });
  return height;
}

/** Returns the number of levels below the head of a large subtree. */
async function heightOf(parts: TreeParts, head: Node): Promise<number> {
  let height = await heightByRecords(parts, head);
  // Records of subtrees that jobs are moving may not name the head yet.
  for (const { headId } of await parts.pending.in(head.workspaceId)) {
    const moved = await parts.tree.get(headId);
    if (!moved?.ancestors.includes(head.id)) continue;
    const level = moved.ancestors.length - head.ancestors.length;
    height = Math.max(height, level + (await heightByRecords(parts, moved)));
  }
  return height;
}

async function heightByRecords(parts: TreeParts, head: Node): Promise<number> {
  let height = 0;
  for await (const nodes of descendantsOf(parts, head)) {
    for (const { ancestors } of nodes) height = Math.max(height, ancestors.length - ancestors.indexOf(head.id));
  }
  return height;
}

/**
 * Reserves quota for a node below another parent, and for all of its descendants in another workspace. Returns what a
 * job will bring to that workspace.
 */
export async function reserveMove(
  parts: TreeParts,
  node: Node,
  destination: Destination,
  below: Below,
  work: UnitOfWork,
): Promise<TreeJob['reserved']> {
  if (destination.key === node.parentKey) return undefined;
  const { workspaceId } = destination.parent;
  if (workspaceId === node.workspaceId) {
    await reservePlaces(parts, destination, work, { id: node.id, resources: 0 });
    return undefined;
  }
  const resources =
    below === 'large' ? await parts.tree.nodes.count({ ancestors: { contains: node.id } }) : below.nodes.length;
  await reservePlaces(parts, destination, work, { id: node.id, resources: 1 + resources });
  return { workspaceId, resources };
}

/** Writes the new places of a head's descendants, and updates the counters of the live ones. */
export async function rewriteBelow(
  parts: TreeParts,
  head: Omit<Node, 'version'>,
  nodes: readonly Node[],
  context: Pick<CallContext, 'work'>,
): Promise<Node[]> {
  const changes: NodeChange[] = [];
  const replaced = replaceBelow(head, nodes);
  const places = await withFreeKeys(
    parts,
    replaced.map(({ node, place }) => moveTo(node, place, node.parentKey)),
  );
  for (const [i, { node }] of replaced.entries()) {
    const moved = places[i] as Omit<Node, 'version'>;
    await moveGrants(parts, context.work, node, moved);
    changes.push({ before: node, after: moved });
  }
  return replaceNodes(parts, context.work, changes);
}

/** Returns the principals that gain or lose access to a node by a move. Its own grants move with it. */
export async function accessChange(parts: TreeParts, before: Node, after: Omit<Node, 'version'>) {
  const [old, now] = await Promise.all([readers(parts, before), readers(parts, after)]);
  return { gained: now.filter((one) => !old.includes(one)), lost: old.filter((one) => !now.includes(one)) };
}

async function readers(parts: TreeParts, node: Omit<Node, 'version'>): Promise<string[]> {
  const now = new Date().toISOString();
  const above = reachOfGrants(node).filter((id) => id !== node.id);
  const names = node.boundary === node.workspaceId ? [`workspace:${node.workspaceId}`] : [];
  for (const resourceId of above) {
    const grants = (await grantsOn(parts, { id: resourceId })).filter((grant) => !isExpired(grant, now));
    names.push(...grants.map(({ principal }) => publicName(principal)));
  }
  return [...new Set(names)];
}
