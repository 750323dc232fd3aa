import { NotFound } from '@commonplace/kit/errors';
import { newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import { replaceChanged } from '@commonplace/kit/store';
import type { Parts } from '../parts.js';
import { requireWorkspaceRole, type WorkspaceAccess } from '../policy.js';
import {
  type FoundList,
  type ItemRef,
  isSameItem,
  itemOf,
  type PinEntry,
  type PinVisibility,
  pinListId,
} from '../stores/pins.js';
import { changedNow } from './changed-now.js';

/** Returns a list including this call's own writes: the workspace's, or the caller's own there. */
export async function findList(
  { pinLists }: Parts,
  context: CallContext,
  workspaceId: string,
  visibility: PinVisibility,
): Promise<FoundList> {
  const record = await context.work.get(pinLists.records, pinListId(workspaceId, visibility, context.caller.userId));
  return { visibility, pins: record?.pins ?? [], record };
}

/** Writes a list's pins, and creates its record if there is none. */
export function saveList(
  parts: Parts,
  context: CallContext,
  { workspace }: WorkspaceAccess,
  { visibility, record }: FoundList,
  pins: readonly PinEntry[],
): FoundList {
  const { pinLists } = parts;
  const itemIds = pins.map(({ itemId }) => itemId);
  const stamps = changedNow(parts, context);
  if (record !== undefined) {
    const after = { ...record, pins, itemIds, ...stamps };
    return { visibility, pins, record: replaceChanged(context.work, pinLists.records, record, after) };
  }
  const id = pinListId(workspace.id, visibility, context.caller.userId);
  const { tenant, id: workspaceId } = workspace;
  const made = context.work.insert(pinLists.records, { id, tenant, workspaceId, visibility, pins, itemIds, ...stamps });
  return { visibility, pins, record: made };
}

export function newPin(context: CallContext, { type, id: itemId }: ItemRef, createdAt: string): PinEntry {
  const itemType = type === 'resource' ? {} : { itemType: type };
  return { id: newId(), ...itemType, itemId, addedBy: context.actor, createdAt };
}

/**
 * Throws InsufficientRole if the caller may not change a list: the workspace's needs an editor, their own any role.
 */
export function requirePinRole(access: WorkspaceAccess, visibility: PinVisibility): void {
  requireWorkspaceRole(access, visibility === 'workspace' ? 'editor' : 'guest');
}

/** Selects a pin by its id or by its item. `visibility` picks the list if the item may be in both. */
interface PinSelector {
  readonly pinId?: string | undefined;
  readonly item?: ItemRef | undefined;
  readonly visibility?: PinVisibility | undefined;
}

/**
 * Returns the selected pin and its list. The caller's own list is searched before the workspace's. Throws NotFound.
 */
export async function findPin(
  parts: Parts,
  context: CallContext,
  workspaceId: string,
  { pinId, item, visibility }: PinSelector,
): Promise<{ list: FoundList; pin: PinEntry }> {
  for (const one of ['me', 'workspace'] as const) {
    if (visibility !== undefined && visibility !== one) continue;
    const list = await findList(parts, context, workspaceId, one);
    const pin = list.pins.find((each) => (item === undefined ? each.id === pinId : isSameItem(itemOf(each), item)));
    if (pin !== undefined) return { list, pin };
  }
  throw NotFound();
}
