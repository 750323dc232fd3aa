import { type Fault, invalidFields } from '@commonplace/kit/errors';
import { namesByValue } from '@commonplace/platform/enums';
import { ambiguousTarget } from '@commonplace/platform/pins';
import {
  PinItemType,
  type PinTarget,
  PinVisibility as VisibilityName,
} from '@commonplace/proto/tenancy/v1/pin_service.js';
import { type ItemRef, type ItemType, isSameItem, type PinVisibility } from '../stores/pins.js';

/** A pinned item, named in one of the two accepted ways. */
interface NamedItem {
  readonly resourceId?: string | undefined;
  readonly item?: PinTarget | undefined;
}

const TYPES: Partial<Record<PinItemType, ItemType>> = namesByValue(PinItemType);

/** Returns the item that a request names, or undefined. Throws if it names two. */
export function namedItem({ resourceId, item }: NamedItem): ItemRef | undefined {
  const named = item && { type: TYPES[item.type] ?? 'resource', id: item.id };
  if (resourceId === undefined) return named;
  const resource: ItemRef = { type: 'resource', id: resourceId };
  if (named !== undefined && !isSameItem(named, resource)) throw ambiguousTarget('resource_id');
  return resource;
}

/** Builds an item selector from separate query parameters. Throws unless both or neither of them are given. */
export function targetOf(type: PinItemType, id: string | undefined): PinTarget | undefined {
  if (type === PinItemType.UNSPECIFIED && id === undefined) return undefined;
  const faults: Fault[] = [];
  if (type === PinItemType.UNSPECIFIED) {
    faults.push({ param: 'item_type', code: 'missing_field', message: 'item_type is required with item_id.' });
  }
  if (id === undefined)
    faults.push({ param: 'item_id', code: 'missing_field', message: 'item_id is required with item_type.' });
  if (faults.length > 0 || id === undefined) throw invalidFields(faults);
  return { type, id };
}

/** Returns the list that a request names, or undefined. */
export function visibilityOf(name: VisibilityName): PinVisibility | undefined {
  if (name === VisibilityName.UNSPECIFIED) return undefined;
  return name === VisibilityName.ME ? 'me' : 'workspace';
}
