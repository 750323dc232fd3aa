import type { Actor } from '@commonplace/kit/auth';
import { derivedId } from '@commonplace/kit/id';
import type { Collection, CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import { findAll } from './all.js';

/** Whose list it is: that of everybody in the workspace, or of one person there. */
export type PinVisibility = 'workspace' | 'me';

export interface PinEntry {
  readonly id: string;
  readonly itemId: string;
  readonly addedBy: Actor;
  readonly createdAt: string;
}

/** One list of pins in its order. It is one record, so that its order, its limit and its items change as one. */
export interface PinList extends StoredRecord {
  readonly tenant: string;
  readonly workspaceId: string;
  readonly visibility: PinVisibility;
  readonly pins: readonly PinEntry[];
  /** The items of all pins, to be found by. */
  readonly itemIds: readonly string[];
}

export const pinListCollection: CollectionSpec<PinList> = {
  name: 'pin_lists',
  indexes: [{ fields: ['workspaceId'] }, { fields: ['itemIds'], many: true }],
};

/** The id of a list; `userId` is whose own it is. */
export function pinListId(workspaceId: string, visibility: PinVisibility, userId: string): string {
  return derivedId(visibility === 'workspace' ? `pins:${workspaceId}` : `pins:${workspaceId}:${userId}`);
}

export interface PinLists {
  readonly records: Collection<PinList>;
  ofWorkspace(workspaceId: string): Promise<PinList[]>;
  /** Those that hold one of some items. */
  withItems(itemIds: readonly string[]): Promise<PinList[]>;
}

export function createPinLists(records: Collection<PinList>): PinLists {
  return {
    records,
    ofWorkspace: (workspaceId) => findAll(records, { workspaceId }),
    withItems: (itemIds) => findAll(records, { itemIds: { containsAny: itemIds } }),
  };
}
