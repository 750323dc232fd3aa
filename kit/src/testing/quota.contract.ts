import { expect } from '@jest/globals';
import { createQuota, type Quota, quotaCollection, reserveAmount } from '../quota/index.js';
import { type Collection, inWork, LostRace, type Store, type StoredRecord } from '../store/index.js';
import type { Bench } from './store/harness.js';
import type { Duties } from './suite/duties.js';

interface Place extends StoredRecord {
  readonly key: string;
}

interface Account extends StoredRecord {
  readonly bytes: number;
}

class Full extends Error {}

let opened = 0;

/** A quota and its records as one process sees them, with functions that use it. */
interface Bed {
  readonly places: Collection<Place>;
  readonly quota: Quota;
  take(key: string, amount?: number, ids?: readonly string[]): Promise<void>;
  leave(key: string, count: number): Promise<void>;
}

async function open(store: Store, name: string, limit: number, slots: number): Promise<Bed> {
  const places = await store.collection<Place>({ name: `places_${name}`, indexes: [{ fields: ['key'] }] });
  const count = (key: string) => places.count({ key });
  const terms = { name, limit, slots, count, refuse: () => new Full() };
  const quota = createQuota(await store.collection(quotaCollection), terms);
  return {
    places,
    quota,
    async take(key, amount = 1, ids = []) {
      // Retries after a lost race with increasing backoff, as a service does.
      for (let runs = 0; ; runs++) {
        const work = store.begin();
        await quota.reserve(work, key, amount);
        for (let at = 0; at < amount; at++) {
          work.insert(places, { id: ids[at] ?? `${Math.random()}`.slice(2), key });
        }
        try {
          return await work.commit();
        } catch (error) {
          if (!(error instanceof LostRace) || runs === 60) throw error;
          await new Promise((resolve) => setTimeout(resolve, Math.random() * 20));
        }
      }
    },
    leave: (key, count) =>
      inWork(store, async (work) => {
        for (const place of await places.find({ where: { key }, limit: count })) work.remove(places, place);
      }),
  };
}

function outcomes(results: readonly PromiseSettledResult<unknown>[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const result of results) {
    const name = result.status === 'fulfilled' ? 'taken' : String(result.reason?.constructor?.name);
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

/** Registers the duties of a quota, for any store. */
export function quotaDuties(duty: Duties, use: () => Bench): void {
  const fresh = () => `q${++opened}_${Math.trunc(performance.timeOrigin).toString(36)}`;

  for (const slots of [1, 8]) {
    duty(`of 50 concurrent reservations from two processes, as many succeed as fit (${slots} slots)`, async () => {
      const { harness, store } = use();
      const name = fresh();
      const beds = [await open(store, name, 10, slots), await open(harness.store('contract'), name, 10, slots)];
      const results = await Promise.allSettled(Array.from({ length: 50 }, (_, at) => (beds[at % 2] as Bed).take('k')));
      expect(outcomes(results)).toEqual({ taken: 10, Full: 40 });
      expect(await (beds[0] as Bed).places.count({ key: 'k' })).toBe(10);
    });

    duty(
      `existing items count before the first reservation, and deleted items free quota (${slots} slots)`,
      async () => {
        const { store } = use();
        const name = fresh();
        const places = await store.collection<Place>({ name: `places_${name}`, indexes: [{ fields: ['key'] }] });
        const unit = store.begin();
        for (let at = 0; at < 7; at++) unit.insert(places, { id: `before-${at}`, key: 'k' });
        await unit.commit();
        const bed = await open(store, name, 10, slots);
        expect(outcomes(await Promise.allSettled(Array.from({ length: 9 }, () => bed.take('k'))))).toEqual({
          taken: 3,
          Full: 6,
        });
        await bed.leave('k', 4);
        expect(outcomes(await Promise.allSettled(Array.from({ length: 9 }, () => bed.take('k'))))).toEqual({
          taken: 4,
          Full: 5,
        });
        await bed.take('other', 10);
        await expect(bed.take('other')).rejects.toBeInstanceOf(Full);
      },
    );

    duty(`several items are reserved together or not at all, also in parts of one unit (${slots} slots)`, async () => {
      const { store } = use();
      const bed = await open(store, fresh(), 10, slots);
      await bed.take('k', 6);
      await expect(bed.take('k', 5)).rejects.toBeInstanceOf(Full);
      await bed.take('k', 4);
      await bed.leave('k', 5);
      const work = store.begin();
      await bed.quota.reserve(work, 'k', 2);
      await bed.quota.reserve(work, 'k', 3);
      await expect(bed.quota.reserve(work, 'k', 1)).rejects.toBeInstanceOf(Full);
    });

    duty(`a lowered or raised limit applies at once (${slots} slots)`, async () => {
      const { store } = use();
      const name = fresh();
      await (await open(store, name, 100, slots)).take('k', 20);
      const lowered = await open(store, name, 16, slots);
      await expect(lowered.take('k')).rejects.toBeInstanceOf(Full);
      await lowered.leave('k', 5);
      const results = await Promise.allSettled(Array.from({ length: 20 }, () => lowered.take('k')));
      expect(outcomes(results)).toEqual({ taken: 1, Full: 19 });
      await (await open(store, name, 40, slots)).take('k', 24);
      expect(await lowered.places.count({ key: 'k' })).toBe(40);
    });
  }

  duty('a reservation of a unit that is never committed does not block others', async () => {
    const { store } = use();
    const bed = await open(store, fresh(), 10_000, 8);
    await bed.quota.reserve(store.begin(), 'k', 10);
    await bed.take('k', 10);
    await bed.quota.reserve(store.begin(), 'k', 10);
    await bed.take('k', 9990);
    await expect(bed.take('k')).rejects.toBeInstanceOf(Full);
  });

  duty('a limit far away is also enforced once it is near', async () => {
    const { harness, store } = use();
    const name = fresh();
    const beds = [await open(store, name, 1200, 8), await open(harness.store('contract'), name, 1200, 8)];
    const results = await Promise.allSettled(
      Array.from({ length: 50 }, (_, at) => (beds[at % 2] as Bed).take('k', 30)),
    );
    expect(outcomes(results)).toEqual({ taken: 40, Full: 10 });
    expect(await (beds[0] as Bed).places.count({ key: 'k' })).toBe(1200);
  });

  duty('of 50 amounts that are reserved concurrently, as many take effect as fit', async () => {
    const { store } = use();
    const records = await store.collection<Account>({ name: `accounts_${fresh()}`, indexes: [] });
    const reserve = (amount: number) =>
      inWork(store, (work) =>
        reserveAmount(work, { records, id: 'a', field: 'bytes', limit: 100, refuse: () => new Full() }, amount),
      );
    const taken = async (): Promise<void> => {
      for (;;) {
        try {
          return await reserve(9);
        } catch (error) {
          if (!(error instanceof LostRace)) throw error;
        }
      }
    };
    expect(outcomes(await Promise.allSettled(Array.from({ length: 50 }, taken)))).toEqual({ taken: 11, Full: 39 });
    expect((await records.get('a'))?.bytes).toBe(99);
    await reserve(-9);
    await reserve(10);
    expect((await records.get('a'))?.bytes).toBe(100);
  });
}
