import { invalidField, NotFound } from '@commonplace/kit/errors';
import { createBreathe } from '@commonplace/kit/slices';
import type { UnitOfWork } from '@commonplace/kit/store';
import { generateKeyBetween } from 'fractional-indexing';
import { LimitReached } from '../errors.js';
import { CycleDetected, DepthExceeded, noRoomBetween } from './errors.js';
import type { WorkItemParts } from './parts.js';
import { isOpen, type WorkItemRecord } from './records.js';
import { findInSlices } from './slices.js';

type TreeParts = Pick<WorkItemParts, 'items' | 'counts' | 'settings'>;
type Placed = Pick<WorkItemRecord, 'parentId' | 'status'>;

/** The key of the list in which a work item stands: that of its parent, or of its workspace at the top. */
export const parentKeyOf = ({ parentId, workspaceId }: Pick<WorkItemRecord, 'parentId' | 'workspaceId'>): string =>
  parentId ?? workspaceId;

// ---- parents

/**
 * Returns a work item under which another one is to stand, and those above it, nearest first. The unit depends on all of
 * them: of two moves at once that would make a circle together, one runs again.
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

/** Throws unless a work item with so many levels below it may stand at the end of a line. */
export function requireDepth({ settings }: Pick<TreeParts, 'settings'>, lineLength: number, levelsBelow: number): void {
  const max = settings.workItemDepth;
  if (lineLength + 1 + levelsBelow > max) throw DepthExceeded({ max_depth: max });
}

/**
 * Throws if a work item may not be moved to the end of a line, because of a circle or of its depth. The unit depends on all
 * that comes to stand below it meanwhile.
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

/** Notes at the top of a line that something comes to stand at its end, for moves of what is above that. */
export async function noteGrowth(
  { counts }: Pick<TreeParts, 'counts'>,
  line: readonly WorkItemRecord[],
  work: UnitOfWork,
): Promise<void> {
  const top = line.at(-1);
  if (top === undefined || (await work.get(counts, top.id)) === undefined) return;
  work.incrementWithin(counts, top.id, 'growth', 1, { atLeast: 0 });
}

/** Work items whose children one query looks for. */
const PARENTS = 50;

/** Returns the number of levels below a work item, counted up to `most`. */
async function levelsBelow({ items, counts }: TreeParts, id: string, most: number): Promise<number> {
  const breathe = createBreathe();
  let parents = [id];
  for (let levels = 0; levels < most; levels++) {
    const below: string[] = [];
    for (let at = 0; at < parents.length; at += PARENTS) {
      const having = (await counts.getMany(parents.slice(at, at + PARENTS))).filter(({ children }) => children > 0);
      for (const { id: parentKey, children } of having) {
        // That there are children is enough to know at the last level.
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

// ---- numbers of children

/**
 * Changes the numbers of the children of a parent, at the commit and within the limit. A parent that is being removed has
 * none any more: then nothing is counted.
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

/** Counts a work item where it stands now and no more where it stood. */
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

// ---- positions

/** Where a work item is to stand among those with the same parent. */
export type Wish =
  | { readonly at: 'last' }
  | { readonly before: string }
  | { readonly after: string }
  | { readonly key: string };

/** Characters of a position; the key between two neighbours grows by one for every six that are put there in a row. */
const MAX_POSITION = 255;

/** Returns the order key of a wish. Throws `invalid_value` if the named work item does not stand there. */
export async function positionFor(
  { items }: Pick<TreeParts, 'items'>,
  parentKey: string,
  wish: Wish,
  itemId: string | undefined,
  work: UnitOfWork,
): Promise<string> {
  const siblings = { parentKey };
  if ('at' in wish) return roomy(keyBetween((await items.max('position', siblings)) ?? null, null));
  if ('key' in wish) {
    const where = { ...siblings, position: { gte: wish.key } };
    const next = (await items.find({ where, sort: ['position'], limit: 2 })).find(({ id }) => id !== itemId);
    if (next === undefined) return positionFor({ items }, parentKey, { at: 'last' }, itemId, work);
    return positionFor({ items }, parentKey, { before: next.id }, itemId, work);
  }
  const isAfter = 'after' in wish;
  const named = isAfter ? wish.after : wish.before;
  const sibling = named === itemId ? undefined : await work.get(items, named);
  if (sibling?.parentKey !== parentKey) {
    const param = isAfter ? 'after_id' : 'before_id';
    throw invalidField(param, 'invalid_value', `${param} names no other work item with the same parent.`);
  }
  const after = [sibling.position, sibling.id];
  const sort = isAfter ? (['position'] as const) : (['-position'] as const);
  const [next] = await items.find({ where: siblings, sort, after, limit: 1 });
  const neighbour = next?.position ?? null;
  return roomy(isAfter ? keyBetween(sibling.position, neighbour) : keyBetween(neighbour, sibling.position));
}

/** Returns a key between two others; null is the end of the list. Between equal keys it is the same, and ids decide. */
export function keyBetween(before: string | null, after: string | null): string {
  return before !== null && before === after ? before : generateKeyBetween(before, after);
}

function roomy(position: string): string {
  if (position.length > MAX_POSITION) throw noRoomBetween();
  return position;
}
