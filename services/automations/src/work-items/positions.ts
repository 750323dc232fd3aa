import { invalidField } from '@commonplace/kit/errors';
import type { CallContext } from '@commonplace/kit/rpc';
import { generateKeyBetween, generateNKeysBetween } from 'fractional-indexing';
import { noRoomBetween } from './errors.js';
import { itemEvent } from './events.js';
import type { WorkItemParts } from './parts.js';
import type { WorkItemRecord } from './records.js';
import { findInSlices } from './slices.js';

type PositionParts = Pick<WorkItemParts, 'items'>;

/** The requested place of a work item among those with the same parent. */
export type RequestedPosition =
  | { readonly at: 'last' }
  | { readonly before: string }
  | { readonly after: string }
  | { readonly key: string };

/** The work item that gets a place. */
interface PlacedItem {
  /** Absent for a new work item. */
  readonly id: string | undefined;
  readonly number: number;
  readonly parentKey: string;
}

/**
 * Maximum characters of a position. A key between the same neighbours grows by one character for every six insertions
 * in a row.
 */
const MAX_POSITION = 255;
/** Maximum number of work items with the same position that one move gives positions of their own. */
const MAX_REPLACED = 500;

/**
 * Returns the order key for a requested place. Throws `invalid_value` if the named work item does not have the same
 * parent. Moves to a place between others happen one after another within a process, so that they do not get the same key.
 */
export async function positionFor(
  parts: PositionParts,
  item: PlacedItem,
  requested: RequestedPosition,
  context: CallContext,
): Promise<string> {
  if ('at' in requested) return lastPosition(parts, item);
  await context.inTurn('work_item_positions', item.parentKey);
  return roomy(await between(parts, item, requested, context));
}

/**
 * Returns a key behind all others. It contains the item's number, so that items that come last at the same time have
 * different keys, in the order of their numbers.
 */
async function lastPosition({ items }: PositionParts, { number, parentKey }: PlacedItem): Promise<string> {
  const max = (await items.max('position', { parentKey })) ?? null;
  return roomy(`${generateKeyBetween(max, null)}${number.toString(36).padStart(6, '0')}${END}`);
}

/** The end of a key. A key must not end in the lowest digit. */
const END = 'V';

async function between(
  parts: PositionParts,
  item: PlacedItem,
  requested: Exclude<RequestedPosition, { readonly at: 'last' }>,
  context: CallContext,
): Promise<string> {
  const { items } = parts;
  const { id, parentKey } = item;
  if ('key' in requested) {
    const where = { parentKey, position: { gte: requested.key } };
    const next = (await items.find({ where, sort: ['position'], limit: 2 })).find((one) => one.id !== id);
    return next === undefined ? lastPosition(parts, item) : between(parts, item, { before: next.id }, context);
  }
  const isAfter = 'after' in requested;
  const named = isAfter ? requested.after : requested.before;
  const sibling = named === id ? undefined : await context.work.get(items, named);
  if (sibling?.parentKey !== parentKey) {
    const param = isAfter ? 'after_id' : 'before_id';
    throw invalidField(param, 'invalid_value', `${param} names no other work item with the same parent.`);
  }
  const previous = isAfter ? sibling : await neighbourOf(parts, sibling, '-position', id);
  if (previous === undefined) return generateKeyBetween(null, sibling.position);
  const [key = sibling.position] = await keysBehind(parts, previous, 1, id, context);
  return key;
}

/** Returns the sibling next to a work item, in the direction of the sort, besides the item with the id `except`. */
async function neighbourOf(
  { items }: PositionParts,
  { id, parentKey, position }: WorkItemRecord,
  sort: 'position' | '-position',
  except: string | undefined,
): Promise<WorkItemRecord | undefined> {
  const found = await items.find({ where: { parentKey }, sort: [sort], after: [position, id], limit: 2 });
  return found.find((one) => one.id !== except);
}

/**
 * Returns keys directly behind a work item. Siblings behind it that have the same key, as items that were placed at the
 * same time by different processes or by earlier versions may, get keys of their own in the same commit. The item with the
 * id `except` is being moved, and does not count.
 */
export async function keysBehind(
  parts: PositionParts,
  previous: WorkItemRecord,
  amount: number,
  except: string | undefined,
  context: CallContext,
): Promise<string[]> {
  const { items } = parts;
  const { id, parentKey, position } = previous;
  const next = await neighbourOf(parts, previous, 'position', except);
  if (next === undefined || next.position !== position) {
    return generateNKeysBetween(position, next?.position ?? null, amount);
  }
  const where = { parentKey, position };
  const found = await findInSlices(items, { where, sort: ['position'], after: [position, id], limit: MAX_REPLACED });
  if (found.length === MAX_REPLACED) throw noRoomBetween();
  const equal = found.filter((one) => one.id !== except);
  const behind = await items.find({ where: { parentKey, position: { gt: position } }, sort: ['position'], limit: 2 });
  const end = behind.find((one) => one.id !== except)?.position ?? null;
  const keys = generateNKeysBetween(position, end, amount + equal.length);
  for (const [at, one] of equal.entries()) replace(parts, one, keys[amount + at] ?? position, context);
  return keys.slice(0, amount);
}

function replace(parts: PositionParts, before: WorkItemRecord, position: string, context: CallContext): void {
  const item = context.work.replace(parts.items, before, { ...before, position: roomy(position) });
  context.work.publish(itemEvent(context, 'updated', item, { changedFields: ['position'] }));
}

function roomy(position: string): string {
  if (position.length > MAX_POSITION) throw noRoomBetween();
  return position;
}
