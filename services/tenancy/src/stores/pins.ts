import type { Actor } from '@commonplace/kit/auth';
import { derivedId } from '@commonplace/kit/id';
import type { Collection, CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import { findAllWhere } from './all.js';

/** Owner of a list: everyone in the workspace, or one person there. */
export type PinVisibility = 'workspace' | 'me';

export type ItemType = 'resource' | 'agent' | 'chat_session' | 'im_conversation' | 'automation';

/** Names something that can be pinned. */
export interface ItemRef {
  readonly type: ItemType;
  readonly id: string;
}

/** An item that a person may read. */
export interface ReadableItem extends ItemRef {
  readonly name: string;
  readonly icon?: string | undefined;
  /** The workspaces that it belongs to: several for an agent, none for what belongs to an Org as a whole. */
  readonly workspaceIds: readonly string[];
}

export interface PinEntry {
  readonly id: string;
  /** Absent for a resource. */
  readonly itemType?: ItemType | undefined;
  readonly itemId: string;
  readonly addedBy: Actor;
  readonly createdAt: string;
}

/** One ordered list of pins. It is a single record, so that its order, limit and items change atomically. */
export interface PinList extends StoredRecord {
  readonly tenant: string;
  readonly workspaceId: string;
  readonly visibility: PinVisibility;
  readonly pins: readonly PinEntry[];
  /** The item ids of all pins, indexed for lookups by item. */
  readonly itemIds: readonly string[];
  /** Who made the last change, and when; absent if that was an earlier version. */
  readonly updatedBy?: Actor;
  readonly updatedAt?: string;
}

export const pinListCollection: CollectionSpec<PinList> = {
  name: 'pin_lists',
  indexes: [{ fields: ['workspaceId'] }, { fields: ['itemIds'], many: true }],
};

export const itemOf = ({ itemType = 'resource', itemId }: PinEntry): ItemRef => ({ type: itemType, id: itemId });

export const isSameItem = (one: ItemRef, other: ItemRef): boolean => one.type === other.type && one.id === other.id;

/** Returns the id of a list. `userId` is its owner, and is used for visibility `me` only. */
export function pinListId(workspaceId: string, visibility: PinVisibility, userId: string): string {
  return derivedId(visibility === 'workspace' ? `pins:${workspaceId}` : `pins:${workspaceId}:${userId}`);
}

export interface PinLists {
  readonly records: Collection<PinList>;
  /** Returns the lists that contain at least one of the given items. */
  withItems(itemIds: readonly string[]): Promise<PinList[]>;
}

export function createPinLists(records: Collection<PinList>): PinLists {
  return {
    records,
    withItems: (itemIds) => findAllWhere(records, { itemIds: { containsAny: itemIds } }),
  };
}

/** A list of pins, as one person reads it. `record` is undefined while nothing has been pinned there. */
export interface FoundList {
  readonly visibility: PinVisibility;
  readonly pins: readonly PinEntry[];
  readonly record: PinList | undefined;
}
