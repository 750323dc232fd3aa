import type { SearchFilter } from '@commonplace/proto/resources/v1/index_service.js';
import type { Node } from '../domain/node.js';
import type { Shift } from '../nodes/shifts.js';
import type { AccessSubject } from '../policy.js';
import type { SearchParts } from './parts.js';

/** Maximum number of shifts that one search reads; results of any further ones appear when the index has followed. */
const MAX_SHIFTS = 200;
/** Length of a time (RFC 3339) up to its minute. */
const MINUTE_CHARS = 'YYYY-MM-DDTHH:MM'.length;

type Filter = Pick<SearchFilter, 'workspaceIds' | 'openWorkspaceIds' | 'granted'>;

/**
 * Extends a search filter for subtrees that have moved recently, so that a move or a lifted restriction takes effect at
 * once. Adds what the caller can see at its current place and the index may still have at its former one. `held` are
 * the nodes with a grant to the caller in those workspaces.
 */
export async function addFormerPlaces(
  parts: SearchParts,
  filter: Filter,
  held: readonly Node[],
  subject: AccessSubject,
): Promise<void> {
  // Searches of one minute ask the same question, whose answer the store can keep.
  const minute = subject.now.slice(0, MINUTE_CHARS);
  const where = { workspaceId: { in: filter.workspaceIds }, until: { gt: minute } };
  const shifts = await parts.shifts.find({ where, limit: MAX_SHIFTS });
  const open = new Set(filter.openWorkspaceIds);
  const relevant = shifts.filter(
    ({ until, workspaceId, fromWorkspaceId }) =>
      until > subject.now && (!open.has(workspaceId) || fromWorkspaceId !== workspaceId),
  );
  if (relevant.length === 0) return;
  const ids = new Set(relevant.flatMap(({ headId, fromBoundary }) => [headId, fromBoundary]));
  const known = new Map((await parts.tree.getMany([...ids])).map((node) => [node.id, node]));
  // Skips a subtree that has since moved to another workspace.
  const searched = new Set(filter.workspaceIds);
  const heads = relevant
    .flatMap(({ headId }) => known.get(headId) ?? [])
    .filter(({ workspaceId, state }) => searched.has(workspaceId) && state === 'active');
  const access = await parts.policy.accessToAll(heads, subject);
  const seen = new Set(heads.filter((_, i) => access[i] !== undefined).map(({ id }) => id));
  for (const shift of relevant) {
    const shown = seen.has(shift.headId) ? [shift.headId] : heldBelow(shift, held);
    const wanted = shown.filter((id) => !hides(known.get(shift.fromBoundary), id));
    filter.granted.push(...wanted.map((resourceId) => ({ resourceId, boundaryId: shift.fromBoundary })));
    const { fromWorkspaceId } = shift;
    if (wanted.length > 0 && !filter.workspaceIds.includes(fromWorkspaceId)) filter.workspaceIds.push(fromWorkspaceId);
  }
}

/** Returns the nodes with a grant to the caller in a subtree whose head they cannot see. */
function heldBelow({ headId }: Shift, held: readonly Node[]): string[] {
  return held.filter(({ ancestors }) => ancestors.includes(headId)).map(({ id }) => id);
}

/**
 * Returns whether a former boundary is now a restricted node below the given node, where it still hides its contents.
 */
function hides(boundary: Node | undefined, id: string): boolean {
  return boundary?.restricted === true && boundary.ancestors.includes(id);
}
