import type { SearchFilter } from '@commonplace/proto/resources/v1/index_service.js';
import type { Node } from '../domain/node.js';
import type { Shift } from '../nodes/shifts.js';
import type { AccessSubject } from '../policy.js';
import type { SearchParts } from './parts.js';

/** Maximum number of shifts, latest first, that one search reads; the index has followed earlier ones most likely. */
const MAX_SHIFTS = 200;
/** Length of a time (RFC 3339) up to its minute. */
const MINUTE_CHARS = 'YYYY-MM-DDTHH:MM'.length;

type Filter = Pick<SearchFilter, 'workspaceIds' | 'openWorkspaceIds' | 'granted' | 'lost'>;

/**
 * Extends a search filter for subtrees that have moved recently, so that moves and restrictions take effect at once.
 * Adds what the caller can see at its current place and the index may still have at its former one, and excludes what
 * they no longer see, so that it counts neither in totals nor in facets. `held` are the nodes with a grant to the caller
 * in those workspaces.
 */
export async function addFormerPlaces(
  parts: SearchParts,
  filter: Filter,
  held: readonly Node[],
  subject: AccessSubject,
): Promise<void> {
  const shifts = await recentShifts(parts, filter.workspaceIds, subject.now);
  const open = new Set(filter.openWorkspaceIds);
  // Of a subtree that has only moved within a workspace in which the caller sees everything, they see as much as before.
  const others = shifts.filter((one) => !open.has(one.workspaceId) || one.fromWorkspaceId !== one.workspaceId);
  const moved = new Set(others.map(({ headId }) => headId));
  const relevant = shifts.filter(({ headId }) => moved.has(headId));
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
    const { headId, fromBoundary: boundaryId, fromWorkspaceId } = shift;
    const former = known.get(boundaryId);
    const keptIds = seen.has(headId) ? [] : heldBelow(shift, held);
    if (!seen.has(headId) && !hides(former, headId)) filter.lost.push({ resourceId: headId, boundaryId, keptIds });
    const wanted = (seen.has(headId) ? [headId] : keptIds).filter((id) => !hides(former, id));
    filter.granted.push(...wanted.map((resourceId) => ({ resourceId, boundaryId })));
    if (wanted.length > 0 && !filter.workspaceIds.includes(fromWorkspaceId)) filter.workspaceIds.push(fromWorkspaceId);
  }
}

/** Returns the latest shifts into and out of some workspaces that an index may not have followed yet. */
async function recentShifts(
  { shifts }: SearchParts,
  workspaceIds: readonly string[],
  now: string,
): Promise<readonly Shift[]> {
  // Searches of one minute ask the same questions, whose answers the store can keep.
  const until = { gt: now.slice(0, MINUTE_CHARS) };
  const page = { sort: ['-until'], limit: MAX_SHIFTS } as const;
  const within = [...workspaceIds];
  const found = await Promise.all([
    shifts.find({ where: { workspaceId: { in: within }, until }, ...page }),
    shifts.find({ where: { fromWorkspaceId: { in: within }, until }, ...page }),
  ]);
  const byId = new Map(found.flat().map((shift) => [shift.id, shift]));
  return [...byId.values()].filter((shift) => shift.until > now);
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
