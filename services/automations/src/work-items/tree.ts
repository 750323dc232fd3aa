import { LimitReached, NotFound } from '@commonplace/kit/errors';
import { createBreathe } from '@commonplace/kit/slices';
import type { UnitOfWork } from '@commonplace/kit/store';
import { CycleDetected, DepthExceeded } from './errors.js';
import type { WorkItemParts } from './parts.js';
import { isOpen, type WorkItemRecord } from './records.js';
import { findInSlices } from './slices.js';

type TreeParts = Pick<WorkItemParts, 'items' | 'counts' | 'settings'>;
type Placed = Pick<WorkItemRecord, 'parentId' | 'status'>;

/** Returns the key of the list that contains a work item: the id of its parent, or of its workspace if it has none. */
export const parentKeyOf = ({ parentId, workspaceId }: Pick<WorkItemRecord, 'parentId' | 'workspaceId'>): string =>
  parentId ?? workspaceId;

// ---- parents

/**
 * Returns the new parent of a work item and the parent's ancestors, nearest first. The commit depends on all of them,
 * so that of two concurrent moves that together would create a cycle, one loses the race.
 */
export async function lineOfParent(
  { items }: Pick<TreeParts, 'items'>,
  parentId: string,
  workspaceId: string,
  work: UnitOfWork,
): Promise<WorkItemRecord[]> {
  const line: WorkItemRecord[] = [];
  for (let id: string | undefined = parentId; id !== undefined; id = line.at(-1)?.parentId) {
    const item = await work.get(items, id);
    if (item === undefined || item.workspaceId !== workspaceId) break;
    if (line.some((one) => one.id === item.id)) throw CycleDetected();
    line.push(item);
  }
  if (line.length === 0) throw NotFound({}, { param: 'parent_id' });
  for (const item of line) work.expect(items, item);
  return line;
}

/** Throws `depth_exceeded` unless an item with `levelsBelow` levels below it fits below a line of ancestors. */
export function requireDepth({ settings }: Pick<TreeParts, 'settings'>, lineLength: number, levelsBelow: number): void {
  const max = settings.workItemDepth;
  if (lineLength + 1 + levelsBelow > max) throw DepthExceeded({ max_depth: max });
}

/**
 * Throws if moving a work item below a line of ancestors would create a cycle or exceed the depth. The commit fails if
 * something is added below the item at the same time.
 */
export async function requireMovable(
  parts: TreeParts,
  item: WorkItemRecord,
  line: readonly WorkItemRecord[],
  work: UnitOfWork,
): Promise<void> {
  if (line.some(({ id }) => id === item.id)) throw CycleDetected();
  const { parentId, workspaceId } = item;
  const above = parentId === undefined ? [] : await lineOfParent(parts, parentId, workspaceId, work);
  const top = above.at(-1)?.id ?? item.id;
  const growth = (await work.get(parts.counts, top))?.growth ?? 0;
  const room = parts.settings.workItemDepth - line.length - 1;
  requireDepth(parts, line.length, await levelsBelow(parts, item.id, room + 1));
  work.incrementWithin(parts.counts, top, 'growth', 1, { atLeast: growth + 1, atMost: growth + 1 });
  if (line.at(-1)?.id !== top) await noteGrowth(parts, line, work);
}

/**
 * Counts at the topmost ancestor that something is added at the end of a line, so that concurrent moves of its
 * ancestors fail.
 */
export async function noteGrowth(
  { counts }: Pick<TreeParts, 'counts'>,
  line: readonly WorkItemRecord[],
  work: UnitOfWork,
): Promise<void> {
  const top = line.at(-1);
  if (top === undefined || (await work.get(counts, top.id)) === undefined) return;
  work.incrementWithin(counts, top.id, 'growth', 1, { atLeast: 0 });
}

/** Number of work items whose child counts one query reads. */
const PARENTS = 50;

/** Returns the number of levels below a work item, at most `most`. */
async function levelsBelow({ items, counts }: TreeParts, id: string, most: number): Promise<number> {
  const breathe = createBreathe();
  let parents = [id];
  for (let levels = 0; levels < most; levels++) {
    const below: string[] = [];
    for (let at = 0; at < parents.length; at += PARENTS) {
      const having = (await counts.getMany(parents.slice(at, at + PARENTS))).filter(({ children }) => children > 0);
      for (const { id: parentKey, children } of having) {
        // At the last level it is enough to know that there are children.
        if (levels + 1 === most) return most;
        const found = await findInSlices(items, { where: { parentKey }, sort: ['position'], limit: children });
        below.push(...found.map((child) => child.id));
      }
      await breathe();
    }
    if (below.length === 0) return levels;
    parents = below;
  }
  return most;
}

// ---- child counts

/**
 * Changes the child counts of a parent, within the limit, when the unit of work commits. Does nothing if the parent is
 * being removed and has no counts any more.
 */
export async function countChildren(
  { counts, settings }: Pick<TreeParts, 'counts' | 'settings'>,
  parentId: string,
  children: number,
  open: number,
  work: UnitOfWork,
): Promise<void> {
  const before = await work.get(counts, parentId);
  if (before === undefined) return;
  const limit = settings.workItemChildren;
  if (children > 0 && before.children + children > limit) {
    throw LimitReached({ limit, what: 'work items below one' });
  }
  const range = children > 0 ? { atMost: limit } : { atLeast: 0 };
  if (children !== 0) work.incrementWithin(counts, parentId, 'children', children, range);
  if (open !== 0) work.incrementWithin(counts, parentId, 'open', open, { atLeast: 0 });
}

/** Moves a work item from the counts of its former parent to those of its new one. */
export async function recount(
  parts: Pick<TreeParts, 'counts' | 'settings'>,
  before: Placed,
  after: Placed,
  work: UnitOfWork,
): Promise<void> {
  const openBefore = Number(isOpen(before.status));
  const openAfter = Number(isOpen(after.status));
  if (before.parentId === after.parentId) {
    const by = openAfter - openBefore;
    if (after.parentId !== undefined && by !== 0) await countChildren(parts, after.parentId, 0, by, work);
    return;
  }
  if (before.parentId !== undefined) await countChildren(parts, before.parentId, -1, -openBefore, work);
  if (after.parentId !== undefined) await countChildren(parts, after.parentId, 1, openAfter, work);
}
