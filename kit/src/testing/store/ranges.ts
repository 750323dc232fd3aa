import { expect } from '@jest/globals';
import { LostRace } from '../../store/port.js';
import type { Duties } from '../suite/duties.js';
import { type Bench, ids } from './harness.js';

export function rangeDuties(duty: Duties, use: () => Bench): void {
  duty('incrementWithin adds up to the ends of its range and no further', async () => {
    const { fill, must, store, things } = use();
    const all = await things();
    await fill(all, [{ id: 'a', rank: 8, kind: 'kept' }]);
    const add = async (by: number, range: { atLeast?: number; atMost?: number }): Promise<void> => {
      const unit = store.begin();
      unit.incrementWithin(all, 'a', 'rank', by, range);
      expect(unit.dirty).toBe(true);
      await unit.commit();
    };
    await add(2, { atMost: 10 });
    await expect(add(1, { atMost: 10 })).rejects.toMatchObject({
      name: 'LostRace',
      collection: all.spec.name,
      id: 'a',
    });
    await add(-10, { atLeast: 0 });
    await expect(add(-1, { atLeast: 0 })).rejects.toBeInstanceOf(LostRace);
    await add(0.25, { atLeast: 0.25, atMost: 0.25 });
    await expect(add(0, { atLeast: 0.5, atMost: 0.5 })).rejects.toBeInstanceOf(LostRace);
    await add(0, { atLeast: 0.25, atMost: 0.25 });
    expect(await must(all, 'a')).toStrictEqual({ id: 'a', name: 'a', kind: 'kept', rank: 0.25, version: 1 });
  });

  duty('incrementWithin creates neither a record nor a number, and reports the refusal', async () => {
    const { fill, store, things } = use();
    const all = await things();
    await fill(all, [{ id: 'without' }, { id: 'full', rank: 10 }]);
    for (const id of ['missing', 'without', 'full']) {
      let refused = 0;
      const unit = store.begin();
      unit.insert(all, { id: `beside-${id}`, name: 'beside' });
      unit.incrementWithin(all, id, 'rank', 1, { atMost: 10 }, () => refused++);
      await expect(unit.commit()).rejects.toMatchObject({ name: 'LostRace', id });
      expect(refused).toBe(1);
    }
    expect(ids(await all.find({ where: {}, limit: 9 }))).toEqual(['full', 'without']);
  });

  duty('a unit can add within a range and replace the same record', async () => {
    const { fill, must, store, things } = use();
    const all = await things();
    const [before] = await fill(all, [{ id: 'a', rank: 5 }]);
    let unit = store.begin();
    unit.incrementWithin(all, 'a', 'rank', 0, { atLeast: 5, atMost: 5 });
    unit.replace(all, before as never, { id: 'a', name: 'a', rank: 2 });
    unit.incrementWithin(all, 'a', 'rank', 1, { atMost: 3 });
    expect(await unit.get(all, 'a')).toMatchObject({ rank: 3, version: 2 });
    await unit.commit();
    expect(await must(all, 'a')).toMatchObject({ rank: 3, version: 2 });
    unit = store.begin();
    unit.incrementWithin(all, 'a', 'rank', 0, { atLeast: 5, atMost: 5 });
    unit.replace(all, await must(all, 'a'), { id: 'a', name: 'lost' });
    await expect(unit.commit()).rejects.toBeInstanceOf(LostRace);
  });

  duty('of 50 concurrent units that add within a range, as many take effect as fit', async () => {
    const { fill, harness, must, store, things } = use();
    const all = await things();
    await fill(all, [{ id: 'sum', rank: 0 }]);
    const stores = [store, harness.store('contract')];
    const opened = await Promise.all(stores.map((one) => one.collection(all.spec)));
    const results = await Promise.allSettled(
      Array.from({ length: 50 }, async (_, at) => {
        const unit = (stores[at % 2] as typeof store).begin();
        const there = opened[at % 2] as typeof all;
        unit.insert(there, { id: `id-${at}`, name: 'beside' });
        unit.incrementWithin(there, 'sum', 'rank', 1, { atMost: 20 });
        await unit.commit();
      }),
    );
    for (const result of results) if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(LostRace);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(20);
    expect((await must(all, 'sum')).rank).toBe(20);
    expect(await all.count({ name: 'beside' })).toBe(20);
  });
}
