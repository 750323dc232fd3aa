import type { Actor } from '@commonplace/kit/auth';
import { newId } from '@commonplace/kit/id';
import { type HeldJob, openQueue, type Queue } from '@commonplace/kit/jobs';
import type { CallContext } from '@commonplace/kit/rpc';
import type { Collection, StoredRecord, UnitOfWork } from '@commonplace/kit/store';
import { recordChange } from './activity.js';
import { itemEvent, removalEvent } from './events.js';
import { derivedFrom } from './fields.js';
import type { WorkItemParts } from './parts.js';
import { keysBehind } from './positions.js';
import { type ItemRemovalRecord, isOpen, itemRemovalQueue, type WorkItemRecord } from './records.js';
import { findInSlices } from './slices.js';
import { countChildren } from './tree.js';

/**
 * Maximum number of descendants that the request deletes in its own commit. If there are more, a job deletes all of
 * them.
 */
const MAX_REMOVED_AT_ONCE = 100;
/** Number of records that one unit of work of the job removes. */
const CHUNK = 50;
const CONCURRENCY = 2;

/** Deletes a work item in the unit of work of a call. Its children move up to its parent, or are deleted with it. */
export async function removeItem(
  parts: WorkItemParts,
  item: WorkItemRecord,
  deleteChildren: boolean,
  context: CallContext,
): Promise<void> {
  const { work, actor } = context;
  const children = (await work.get(parts.counts, item.id))?.children ?? 0;
  const below = deleteChildren && children > 0 ? await descendants(parts, item.id) : [];
  const isWhole = below.length <= MAX_REMOVED_AT_ONCE;
  const removed = isWhole ? [item, ...below] : [item];
  if (!deleteChildren && children > 0) await moveUp(parts, item, children, context);
  else await countOut(parts, item, work);
  for (const one of removed) await removeRecord(parts, one, removed, isWhole, work);
  for (const one of removed) work.publish(itemEvent(context, 'deleted', one));
  const itemIds = removed.map(({ id }) => id);
  const { tenant, workspaceId } = item;
  const dueAt = new Date(parts.now()).toISOString();
  work.insert(parts.removals, { id: newId(), tenant, workspaceId, itemIds, deletedBy: actor, dueAt });
}

async function countOut(parts: WorkItemParts, { parentId, status }: WorkItemRecord, work: UnitOfWork): Promise<void> {
  if (parentId !== undefined) await countChildren(parts, parentId, -1, -Number(isOpen(status)), work);
}

/** Removes a work item with its child count. If `isWhole`, the commit fails if a child is added at the same time. */
async function removeRecord(
  parts: WorkItemParts,
  item: WorkItemRecord,
  removed: readonly WorkItemRecord[],
  isWhole: boolean,
  work: UnitOfWork,
): Promise<void> {
  work.remove(parts.items, item);
  const count = await work.get(parts.counts, item.id);
  if (count === undefined) return;
  if (isWhole) {
    const present = removed.filter(({ parentId }) => parentId === item.id).length;
    work.incrementWithin(parts.counts, item.id, 'children', 0, { atLeast: present, atMost: present });
  }
  work.remove(parts.counts, count);
}

/** Returns the descendants of a work item, at most one more than a request deletes at once. */
async function descendants({ items }: WorkItemParts, id: string): Promise<WorkItemRecord[]> {
  const found: WorkItemRecord[] = [];
  for (let parents = [id]; parents.length > 0 && found.length <= MAX_REMOVED_AT_ONCE; ) {
    const next: WorkItemRecord[] = [];
    for (const parentKey of parents) {
      const limit = MAX_REMOVED_AT_ONCE + 1 - found.length - next.length;
      if (limit <= 0) break;
      next.push(...(await findInSlices(items, { where: { parentKey }, sort: ['position'], limit })));
    }
    found.push(...next);
    parents = next.map((one) => one.id);
  }
  return found;
}

/**
 * Moves the children of a work item to its place, in their order. Throws `limit_reached` if the parent would have too
 * many children.
 */
async function moveUp(parts: WorkItemParts, item: WorkItemRecord, amount: number, context: CallContext): Promise<void> {
  const { work, actor } = context;
  const { items } = parts;
  const children = await findInSlices(items, { where: { parentKey: item.id }, sort: ['position'], limit: amount + 1 });
  const open = children.filter(({ status }) => isOpen(status)).length;
  const { parentId } = item;
  if (parentId !== undefined) {
    await countChildren(parts, parentId, children.length - 1, open - Number(isOpen(item.status)), work);
  }
  // Subtracts the children from the count of the deleted item; the commit fails if a child was added.
  work.incrementWithin(parts.counts, item.id, 'children', -children.length, { atLeast: 0, atMost: 0 });
  const positions = await keysBehind(parts, item, children.length, undefined, context);
  const updatedAt = new Date(parts.now()).toISOString();
  for (const [at, child] of children.entries()) {
    const fields = { ...child, parentId, position: positions[at] ?? item.position, updatedBy: actor, updatedAt };
    const moved = work.replace(items, child, { ...fields, ...derivedFrom(fields) });
    await recordChange(parts, child, moved, actor, work);
    work.publish(itemEvent(context, 'updated', moved, { changedFields: ['parent_id', 'position'] }));
  }
}

// ---- background job

/** Opens the queue that removes what deleted work items leave: activities, runs and descendants. */
export function openItemRemovalQueue(parts: WorkItemParts): Promise<Queue<ItemRemovalRecord>> {
  const { store, log, now } = parts;
  return openQueue<ItemRemovalRecord>({
    ...{ store, log, now, spec: itemRemovalQueue, concurrency: CONCURRENCY },
    async run(job) {
      while (!job.isStopping) {
        const id = job.record.itemIds.at(-1);
        if (id === undefined) return job.remove();
        if (await removeSome(parts, job, id)) continue;
        await job.save(({ itemIds }) => ({ itemIds: itemIds.filter((one) => one !== id) }));
      }
    },
  });
}

/** Removes some remaining records of a work item. Returns whether there were any. */
async function removeSome(parts: WorkItemParts, job: HeldJob<ItemRemovalRecord>, id: string): Promise<boolean> {
  // A child that was moved elsewhere in the meantime still exists and is kept.
  if ((await parts.items.get(id)) !== undefined) return false;
  const below = await findInSlices(parts.items, { where: { parentKey: id }, limit: CHUNK });
  if (below.length > 0) {
    await job.save(
      ({ itemIds }) => ({ itemIds: [...itemIds, ...below.map((one) => one.id)] }),
      (work) => removeChildren(parts, id, below, job.record.deletedBy, work),
    );
    return true;
  }
  for (const records of [parts.activities, parts.links, parts.starts] as unknown as Collection<SideRecord>[]) {
    const some = await records.find({ where: { itemId: id }, anyOrder: true, limit: CHUNK });
    if (some.length === 0) continue;
    await job.save({}, async (work) => {
      for (const one of some) {
        const present = await work.get(records, one.id);
        if (present !== undefined) work.remove(records, present);
      }
    });
    return true;
  }
  return false;
}

type SideRecord = StoredRecord & { readonly itemId: string };

async function removeChildren(
  parts: WorkItemParts,
  parentId: string,
  children: readonly WorkItemRecord[],
  deletedBy: Actor,
  work: UnitOfWork,
): Promise<void> {
  for (const { id } of children) {
    const child = await work.get(parts.items, id);
    if (child?.parentId !== parentId) continue;
    work.remove(parts.items, child);
    const count = await work.get(parts.counts, id);
    if (count !== undefined) work.remove(parts.counts, count);
    work.publish(removalEvent(child, deletedBy));
  }
}
