import type { SearchFilter } from '@commonplace/proto/resources/v1/index_service.js';
import type { Parts } from '../parts.js';
import type { Standing } from '../policy.js';
import type { Node } from '../stores/nodes.js';
import type { Shift } from '../stores/shifts.js';

/** Shifts that one search looks at; more in ten minutes are found when the index has followed. */
const MOST_SHIFTS = 200;

type Filter = Pick<SearchFilter, 'workspaceIds' | 'openWorkspaceIds' | 'granted'>;

/**
 * Adds to a filter over copies of places, as search has them, what the caller sees where it now stands and a copy may
 * still have where it stood: so that a move, or a restriction that was lifted, counts at once. `held` are the nodes
 * that are granted to the caller in those workspaces.
 */
export async function addFormerPlaces(
  parts: Parts,
  filter: Filter,
  held: readonly Node[],
  standing: Standing,
): Promise<void> {
  const where = { workspaceId: { in: filter.workspaceIds }, until: { gt: standing.now } };
  const shifts = await parts.shifts.find({ where, limit: MOST_SHIFTS });
  const open = new Set(filter.openWorkspaceIds);
  const relevant = shifts.filter(
    (shift) => !open.has(shift.workspaceId) || shift.fromWorkspaceId !== shift.workspaceId,
  );
  if (relevant.length === 0) return;
  const ids = new Set(relevant.flatMap(({ headId, fromBoundary }) => [headId, fromBoundary]));
  const known = new Map((await parts.tree.getMany([...ids])).map((node) => [node.id, node]));
  // What has gone on to another workspace since is not here.
  const searched = new Set(filter.workspaceIds);
  const heads = relevant
    .flatMap(({ headId }) => known.get(headId) ?? [])
    .filter(({ workspaceId, state }) => searched.has(workspaceId) && state === 'active');
  const access = await parts.policy.accessToAll(heads, standing);
  const seen = new Set(heads.filter((_, i) => access[i] !== undefined).map(({ id }) => id));
  for (const shift of relevant) {
    const shown = seen.has(shift.headId) ? [shift.headId] : heldBelow(shift, held);
    const wanted = shown.filter((id) => !hides(known.get(shift.fromBoundary), id));
    filter.granted.push(...wanted.map((resourceId) => ({ resourceId, boundaryId: shift.fromBoundary })));
    const { fromWorkspaceId } = shift;
    if (wanted.length > 0 && !filter.workspaceIds.includes(fromWorkspaceId)) filter.workspaceIds.push(fromWorkspaceId);
  }
}

/** What is granted to the caller in a subtree whose head is not. */
function heldBelow({ headId }: Shift, held: readonly Node[]): string[] {
  return held.filter(({ ancestors }) => ancestors.includes(headId)).map(({ id }) => id);
}

/** A boundary that has come to stand below what once stood in it is a boundary there. */
function hides(boundary: Node | undefined, id: string): boolean {
  return boundary?.restricted === true && boundary.ancestors.includes(id);
}
