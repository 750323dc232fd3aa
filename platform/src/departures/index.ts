import { type Collection, type CollectionSpec, inWork, type Store, type StoredRecord } from '@commonplace/kit/store';
import type { MEMBER_LEFT, TypedEvent } from '../events/index.js';

export { findSuccessor, type Successor, watchDepartures } from './watch.js';

/**
 * The last time that a person left a workspace or an Org, or the deletion of an agent or a group. What a service writes
 * for a member may commit after it has removed what it found when the person left; by this record it recognizes such a
 * write.
 */
export interface Departure extends StoredRecord {
  readonly tenant: string;
  /** Who receives what the person owned in an Org; empty for nobody. */
  readonly successorId: string;
  readonly expiresAt: string;
}

const departureCollection: CollectionSpec<Departure> = {
  name: 'departures',
  indexes: [{ fields: ['expiresAt'] }],
  expires: 'expiresAt',
};

/** Milliseconds for which a departure is kept: longer than any call or job that began before it. */
const KEPT_MS = 24 * 60 * 60 * 1000;

export interface Departures {
  /**
   * Stores the departure that an event reports. A service calls it before it reads what the person has in the place, so
   * that what it does not find is written after the departure is stored.
   */
  store(event: TypedEvent<(typeof MEMBER_LEFT)[number]>): Promise<void>;
  /** Returns the departures of some people from a workspace or an Org, by the person's id. */
  from(placeId: string, userIds: readonly string[]): Promise<ReadonlyMap<string, Departure>>;
  /** Stores that an agent or a group was deleted, before what it has is looked up, as `store` does for a person. */
  storeDeleted(id: string, tenant: string): Promise<void>;
  /** Returns whether an agent or a group was deleted. */
  isDeleted(id: string): Promise<boolean>;
}

/** Opens the departures that a service keeps in its store. `now` returns epoch milliseconds. */
export async function openDepartures(store: Store, now: () => number = Date.now): Promise<Departures> {
  const departures: Collection<Departure> = await store.collection(departureCollection);
  const put = (id: string, facts: Pick<Departure, 'tenant' | 'successorId'>) =>
    inWork(store, async (work) => {
      const before = await work.get(departures, id);
      const after = { ...before, id, ...facts, expiresAt: new Date(now() + KEPT_MS).toISOString() };
      if (before === undefined) work.insert(departures, after);
      else work.replace(departures, before, after);
    });
  return {
    async store(event) {
      const { tenant, data } = event;
      if (tenant === undefined || data.userId === '') return;
      const [placeId, successorId] =
        event.name === 'tenancy.org_member.removed'
          ? [event.data.orgId, event.data.transferToUserId]
          : [event.data.workspaceId, ''];
      await put(departureId(placeId, data.userId), { tenant, successorId });
    },
    async from(placeId, userIds) {
      const idsOf = new Map(userIds.map((userId) => [departureId(placeId, userId), userId]));
      const found = await departures.getMany([...idsOf.keys()]);
      return new Map(found.map((departure) => [idsOf.get(departure.id) ?? '', departure]));
    },
    storeDeleted: (id, tenant) => put(id, { tenant, successorId: '' }),
    isDeleted: async (id) => (await departures.get(id)) !== undefined,
  };
}

function departureId(placeId: string, userId: string): string {
  return `${placeId}:${userId}`;
}
