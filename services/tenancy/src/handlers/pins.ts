import { invalidField, LimitReached, NotFound } from '@commonplace/kit/errors';
import { type CallContext, type Handlers, requireVersion } from '@commonplace/kit/rpc';
import { isWithinTimes, pageInOrder } from '@commonplace/kit/store';
import { ambiguousTarget, insertPin, missingTarget, movePin, orderPins } from '@commonplace/platform/pins';
import {
  type CreatePinRequest,
  type Pin,
  PinFilter,
  type PinService,
  PinVisibility as PinVisibilityName,
  type ReorderPinsRequest,
} from '@commonplace/proto/tenancy/v1/pin_service.js';
import { readableItems } from '../acts/pin-items.js';
import { findList, findPin, newPin, requirePinRole, saveList } from '../acts/pin-lists.js';
import { namedItem, targetOf, visibilityOf } from '../acts/pin-targets.js';
import { MAX_PINS_PER_LIST } from '../config.js';
import type { Parts } from '../parts.js';
import { requireActiveWorkspace, requireWorkspaceRole, type WorkspaceAccess } from '../policy.js';
import { type FoundList, isSameItem, itemOf, type PinVisibility } from '../stores/pins.js';
import { toPins } from '../wire/pin.js';

const LISTS: Partial<Record<PinFilter, readonly PinVisibility[]>> = {
  [PinFilter.WORKSPACE]: ['workspace'],
  [PinFilter.ME]: ['me'],
};
const ALL: readonly PinVisibility[] = ['workspace', 'me'];

export function createPinHandlers(parts: Parts): Handlers<PinService> {
  const { policy } = parts;

  /** Returns the pins of several lists that the caller sees, list after list. */
  async function shown(context: CallContext, workspaceId: string, lists: readonly FoundList[]): Promise<Pin[]> {
    const pinned = lists.flatMap(({ pins }) => pins.map(itemOf));
    const items = await readableItems(parts, context, pinned);
    return lists.flatMap((list) => toPins(list, workspaceId, items));
  }

  return {
    async listPins({ workspaceId, page, visibility, ...times }, context) {
      const access = await policy.seeWorkspace(workspaceId, context.caller);
      requireWorkspaceRole(access, 'guest');
      const lists = await Promise.all(
        (LISTS[visibility] ?? ALL).map((one) => findList(parts, context, workspaceId, one)),
      );
      const pins = await shown(context, workspaceId, lists);
      return pageInOrder(
        page,
        pins.filter((pin) => isWithinTimes(pin, times)),
      );
    },

    async createPin(request, context) {
      const { workspaceId } = request;
      const access = await policy.seeWorkspace(workspaceId, context.caller);
      const visibility = visibilityOf(request.visibility) ?? 'workspace';
      requirePinRole(access, visibility);
      return pinItem(parts, context, access, visibility, request);
    },

    async reorderPins(request, context) {
      const { workspaceId, order } = request;
      const access = await policy.seeWorkspace(workspaceId, context.caller);
      requireWorkspaceRole(access, 'guest');
      const moved =
        order.length > 0 ? reorder(parts, context, access, request) : moveOne(parts, context, access, request);
      return pageInOrder(undefined, await shown(context, workspaceId, [await moved]));
    },

    async removePin(request, context) {
      const { workspaceId, pinId, itemType, itemId } = request;
      const access = await policy.seeWorkspace(workspaceId, context.caller);
      requireWorkspaceRole(access, 'guest');
      const item = namedItem({ resourceId: request.resourceId, item: targetOf(itemType, itemId) });
      if (pinId === undefined && item === undefined) throw missingTarget('pin_id, resource_id, item_type and item_id');
      if (pinId !== undefined && item !== undefined) throw ambiguousTarget('pin_id');
      const wanted = { pinId, item, visibility: visibilityOf(request.visibility) };
      const { list, pin } = await findPin(parts, context, workspaceId, wanted);
      requirePinRole(access, list.visibility);
      requireVersion(context, list.record?.version ?? 0, list.record);
      requireActiveWorkspace(access.workspace);
      saveList(
        parts,
        context,
        access,
        list,
        list.pins.filter(({ id }) => id !== pin.id),
      );
      return { id: pin.id, deleted: true };
    },
  };
}

/** Adds the requested pin, or returns the one that already exists. */
async function pinItem(
  parts: Parts,
  context: CallContext,
  access: WorkspaceAccess,
  visibility: PinVisibility,
  request: CreatePinRequest,
): Promise<Pin> {
  const { workspace } = access;
  const named = namedItem(request);
  if (named === undefined) throw missingTarget('resource_id, item');
  const list = await findList(parts, context, workspace.id, visibility);
  const items = await readableItems(parts, context, [named, ...list.pins.map(itemOf)], named.type);
  const item = items.get(named);
  if (item === undefined) throw NotFound({}, { param: request.resourceId === undefined ? 'item.id' : 'resource_id' });
  if (!item.workspaceIds.includes(workspace.id)) {
    throw invalidField(
      request.resourceId === undefined ? 'item.id' : 'resource_id',
      'invalid_value',
      'is in another workspace.',
    );
  }
  requireActiveWorkspace(workspace);
  const answer = (found: FoundList) =>
    toPins(found, workspace.id, items).find((pin) => pin.item?.id === named.id) as Pin;
  if (list.pins.some((pin) => isSameItem(itemOf(pin), named))) {
    context.reply.status = 200;
    return answer(list);
  }
  if (list.pins.length >= MAX_PINS_PER_LIST) throw LimitReached({ limit: MAX_PINS_PER_LIST, what: 'pins in one list' });
  const pin = newPin(context, named, parts.now());
  const pins = insertPin(list.pins, pin, items.seenIn(workspace.id), request.position);
  return answer(saveList(parts, context, access, list, pins));
}

/** Moves the pin that a request names. */
async function moveOne(
  parts: Parts,
  context: CallContext,
  access: WorkspaceAccess,
  request: ReorderPinsRequest,
): Promise<FoundList> {
  const { pinId, position, workspaceId } = request;
  const item = namedItem(request);
  if (pinId === undefined && item === undefined) throw missingTarget('pin_id, resource_id, item, order');
  if (pinId !== undefined && item !== undefined) throw ambiguousTarget('pin_id');
  const wanted = { pinId, item, visibility: visibilityOf(request.visibility) };
  const { list, pin } = await findPin(parts, context, workspaceId, wanted);
  requirePinRole(access, list.visibility);
  const items = await readableItems(parts, context, list.pins.map(itemOf), itemOf(pin).type);
  const sees = items.seenIn(workspaceId);
  if (!sees(pin)) throw NotFound();
  if (position === undefined) throw invalidField('position', 'missing_field', 'is required to move a pin.');
  requireVersion(context, list.record?.version ?? 0, list.record);
  requireActiveWorkspace(access.workspace);
  return saveList(parts, context, access, list, movePin(list.pins, pin, sees, position));
}

/** Reorders the list that contains the pins a request names. */
async function reorder(
  parts: Parts,
  context: CallContext,
  access: WorkspaceAccess,
  { workspaceId, order, pinId, resourceId, item, position, visibility }: ReorderPinsRequest,
): Promise<FoundList> {
  if (pinId !== undefined || resourceId !== undefined || item !== undefined) throw ambiguousTarget('order');
  const own = await findList(parts, context, workspaceId, 'me');
  const isOwn = visibility === PinVisibilityName.ME || own.pins.some(({ id }) => order.includes(id));
  const list =
    isOwn && visibility !== PinVisibilityName.WORKSPACE
      ? own
      : await findList(parts, context, workspaceId, 'workspace');
  requirePinRole(access, list.visibility);
  if (position !== undefined) throw invalidField('position', 'invalid_value', 'must not be combined with order.');
  const items = await readableItems(parts, context, list.pins.map(itemOf));
  const pins = orderPins(list.pins, order, items.seenIn(workspaceId));
  if (pins === undefined) throw invalidField('order', 'invalid_value', 'must name every pin of the list once.');
  requireVersion(context, list.record?.version ?? 0, list.record);
  requireActiveWorkspace(access.workspace);
  return saveList(parts, context, access, list, pins);
}
