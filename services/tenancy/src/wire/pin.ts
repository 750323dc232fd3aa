import { actorMessage } from '@commonplace/platform/actors';
import { valuesByName } from '@commonplace/platform/enums';
import {
  PinItemType,
  type Pin as PinMessage,
  PinVisibility as VisibilityName,
} from '@commonplace/proto/tenancy/v1/pin_service.js';
import type { FoundList, ItemType, PinEntry, ReadableItem } from '../stores/pins.js';

const TYPES: Readonly<Record<ItemType, PinItemType>> = valuesByName(PinItemType);

/** The items that a person may read. */
interface Items {
  ofPin(pin: PinEntry, workspaceId: string): ReadableItem | undefined;
}

/** Returns the pins of a list that the caller may see. */
export function toPins({ visibility, pins, record }: FoundList, workspaceId: string, items: Items): PinMessage[] {
  const seen = pins.flatMap((pin) => {
    const item = items.ofPin(pin, workspaceId);
    return item === undefined ? [] : [{ pin, item }];
  });
  return seen.map(({ pin, item }, position) => ({
    id: pin.id,
    item: { type: TYPES[item.type], id: item.id, name: item.name, icon: item.icon },
    position,
    visibility: visibility === 'me' ? VisibilityName.ME : VisibilityName.WORKSPACE,
    addedBy: actorMessage(pin.addedBy),
    createdAt: pin.createdAt,
    version: record?.version ?? 0,
  }));
}
