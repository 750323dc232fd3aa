import type { Where } from '@commonplace/kit/store';
import { administers, roleAtRoot } from '../domain/access.js';
import { type Grant, grantAt } from '../domain/grant.js';
import type { Node } from '../domain/node.js';
import { type Capability, may, type Role } from '../domain/role.js';
import type { AccessSubject } from '../policy.js';
import type { TreeParts } from './parts.js';

/** The nodes of one workspace that a caller can see, as a filter. */
export interface Visible {
  readonly where: Where<Node>;
  /** Boundaries that are entirely visible; absent if all are. */
  readonly boundaries: readonly string[] | undefined;
  /** Granted nodes; their descendants within the same boundary are visible too. */
  readonly granted: readonly { readonly id: string; readonly boundary: string }[];
  /** All nodes with a grant to the caller. */
  readonly items: readonly Node[];
}

/**
 * Returns the nodes that the caller can read, or on which they have another capability. A node is visible in a boundary
 * that the caller can read (the workspace itself, or a restricted node granted to them), or below a granted node within
 * the same boundary.
 */
export async function visibleWhere(
  parts: TreeParts,
  workspaceId: string,
  subject: AccessSubject,
  capability: Capability = 'read',
): Promise<Visible> {
  const { agent, author } = subject;
  let open = await openToPerson(parts, workspaceId, subject, capability);
  if (author !== undefined) open = both(open, await openToPerson(parts, workspaceId, author, capability));
  if (agent === undefined) return visible(open);
  const role = agent.roleIn(workspaceId);
  if (role === undefined) return visible(NOTHING);
  const held = await parts.policy.agentGrantsIn(workspaceId, subject);
  return visible(both(open, await openBy(parts, workspaceId, role, held, subject.now, capability)));
}

/** Returns a filter for the nodes of one workspace on which the caller has a capability. */
export async function allowedWhere(
  parts: TreeParts,
  workspaceId: string,
  subject: AccessSubject,
  capability: Capability,
): Promise<Where<Node>> {
  return (await visibleWhere(parts, workspaceId, subject, capability)).where;
}

async function openToPerson(
  parts: TreeParts,
  workspaceId: string,
  subject: AccessSubject,
  capability: Capability,
): Promise<Open> {
  const role = subject.own.workspaces.get(workspaceId)?.role;
  if (administers(role)) return EVERYTHING;
  const held = await parts.policy.grantsIn(workspaceId, subject);
  return openBy(parts, workspaceId, roleAtRoot(role), held, subject.now, capability);
}

/** The part of one workspace on which a principal has a capability. */
interface Open {
  /** Boundaries that are entirely open; undefined if all are. */
  readonly boundaries: readonly string[] | undefined;
  /** Nodes with a grant; their descendants within the same boundary are open too. */
  readonly items: readonly Node[];
}

const EVERYTHING: Open = { boundaries: undefined, items: [] };
const NOTHING: Open = { boundaries: [], items: [] };

/** Returns the part of a workspace that a role at the root and some grants open. */
async function openBy(
  parts: TreeParts,
  workspaceId: string,
  atRoot: Role | undefined,
  held: readonly Grant[],
  now: string,
  capability: Capability,
): Promise<Open> {
  const grants = held.filter((grant) => may(grantAt(grant, now)?.role ?? grant.role, capability));
  const items = await parts.tree.getMany([...new Set(grants.map(({ resourceId }) => resourceId))]);
  const root = atRoot !== undefined && may(atRoot, capability) ? [workspaceId] : [];
  const restricted = items.filter(({ id, boundary }) => boundary === id).map(({ id }) => id);
  return { boundaries: [...root, ...restricted], items };
}

/** Returns the part of a workspace that is open to both of two principals. */
function both(one: Open, other: Open): Open {
  const among = ({ boundaries }: Open, ids: readonly string[]) =>
    boundaries === undefined ? ids : ids.filter((id) => boundaries.includes(id));
  const items = new Map([...one.items, ...other.items].map((node) => [node.id, node]));
  return {
    boundaries: one.boundaries === undefined ? other.boundaries : among(other, one.boundaries),
    // Where both have a grant in one boundary, one above the other, the lower one is open to both.
    items: [...items.values()].filter((node) => includes(one, node) && includes(other, node)),
  };
}

function includes({ boundaries, items }: Open, node: Node): boolean {
  if (boundaries === undefined || boundaries.includes(node.boundary)) return true;
  return items.some(
    ({ id, boundary }) => id === node.id || (node.boundary === boundary && node.ancestors.includes(id)),
  );
}

function visible({ boundaries, items }: Open): Visible {
  if (boundaries === undefined) return { where: {}, boundaries, granted: [], items: [] };
  const granted = items
    .filter(({ id, boundary }) => boundary !== id && !boundaries.includes(boundary))
    .map(({ id, boundary }) => ({ id, boundary }));
  if (granted.length === 0) return { where: { boundary: { in: boundaries } }, boundaries, granted, items };
  const below = [...idsByBoundary(granted)].map(([boundary, ids]): Where<Node> => {
    return { boundary, or: [{ id: { in: ids } }, { ancestors: { containsAny: ids } }] };
  });
  return { where: { or: [{ boundary: { in: boundaries } }, ...below] }, boundaries, granted, items };
}

/** Returns the ids of granted nodes by boundary, so that a filter has one part for each boundary. */
function idsByBoundary(granted: Visible['granted']): Map<string, string[]> {
  const byBoundary = new Map<string, string[]>();
  for (const { id, boundary } of granted) {
    const same = byBoundary.get(boundary);
    if (same === undefined) byBoundary.set(boundary, [id]);
    else same.push(id);
  }
  return byBoundary;
}
