import type { AccessibleResource } from '@commonplace/proto/resources/v1/index_service.js';
import {
  PinItemType,
  type Pin as PinMessage,
  PinVisibility as VisibilityName,
} from '@commonplace/proto/tenancy/v1/pin_service.js';
import type { FoundList } from '../stores/pins.js';
import { toActor } from './workspace.js';

/** Returns the pins of a list that the caller may see. */
export function toPins(
  { visibility, pins, record }: FoundList,
  workspaceId: string,
  items: ReadonlyMap<string, AccessibleResource>,
): PinMessage[] {
  const seen = pins.flatMap((pin) => {
    const item = items.get(pin.itemId);
    return item?.workspaceId === workspaceId ? [{ pin, item }] : [];
  });
  return seen.map(({ pin, item }, position) => ({
    id: pin.id,
    item: { type: PinItemType.RESOURCE, id: item.id, name: item.name, icon: item.icon },
    position,
    visibility: visibility === 'me' ? VisibilityName.ME : VisibilityName.WORKSPACE,
    addedBy: toActor(pin.addedBy),
    createdAt: pin.createdAt,
    version: record?.version ?? 0,
  }));
}
