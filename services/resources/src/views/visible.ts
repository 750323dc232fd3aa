import type { Where } from '@commonplace/kit/store';
import { administers, roleAtRoot } from '../domain/access.js';
import type { Parts } from '../parts.js';
import type { Standing } from '../policy.js';
import type { Node } from '../stores/nodes.js';

/** What a person sees of one workspace, as a filter over nodes. */
export interface Visible {
  readonly where: Where<Node>;
  /** The boundaries that are wholly visible; absent where all are. */
  readonly boundaries: readonly string[] | undefined;
  /** Granted nodes whose descendants are visible up to the next boundary. */
  readonly granted: readonly { readonly id: string; readonly boundary: string }[];
  /** All granted nodes. */
  readonly items: readonly Node[];
}

/**
 * A node is visible in a boundary that the person reads in (the workspace itself, or a restricted
 * node granted to them), or below a granted node within the same boundary.
 */
export async function visibleWhere(parts: Parts, workspaceId: string, standing: Standing): Promise<Visible> {
  const role = standing.person.workspaces.get(workspaceId)?.role;
  if (administers(role)) return { where: {}, boundaries: undefined, granted: [], items: [] };
  const grants = await parts.policy.grantsIn(workspaceId, standing);
  const nodes = await parts.tree.getMany([...new Set(grants.map(({ resourceId }) => resourceId))]);
  const boundaries = roleAtRoot(role) === undefined ? [] : [workspaceId];
  const granted: { id: string; boundary: string }[] = [];
  for (const node of nodes) {
    if (node.boundary === node.id) boundaries.push(node.id);
    else if (!boundaries.includes(node.boundary)) granted.push({ id: node.id, boundary: node.boundary });
  }
  if (granted.length === 0) return { where: { boundary: { in: boundaries } }, boundaries, granted, items: nodes };
  const below: Where<Node>[] = granted.flatMap(({ id, boundary }) => [
    { id },
    { ancestors: { contains: id }, boundary },
  ]);
  return { where: { or: [{ boundary: { in: boundaries } }, ...below] }, boundaries, granted, items: nodes };
}
