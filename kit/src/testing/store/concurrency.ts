import { expect } from '@jest/globals';
import { type Collection, LostRace, type Store, UniqueTaken } from '../../store/port.js';
import type { Duties } from '../suite/duties.js';
import type { Bench, Thing } from './harness.js';

/** Runs work until it loses no race, as a service does. Returns the number of lost races. */
async function settle(work: () => Promise<void>): Promise<number> {
  for (let races = 0; ; races++) {
    try {
      await work();
      return races;
    } catch (error) {
      if (!(error instanceof LostRace)) throw error;
    }
  }
}

async function addTo(store: Store, all: Collection<Thing>, id: string, by: number): Promise<void> {
  const unit = store.begin();
  const before = await unit.get(all, id);
  if (before === undefined) throw new Error(`${id} is not there`);
  unit.replace(all, before, { ...before, rank: (before.rank ?? 0) + by });
  await unit.commit();
}

export function concurrencyDuties(duty: Duties, use: () => Bench): void {
  duty('no update is lost among 32 updaters of one record', async () => {
    const { fill, must, store, things } = use();
    const all = await things();
    await fill(all, [{ id: 'a', rank: 0 }]);
    await Promise.all(Array.from({ length: 32 }, (_, at) => settle(() => addTo(store, all, 'a', at + 1))));
    expect(await must(all, 'a')).toMatchObject({ rank: (32 * 33) / 2, version: 33 });
  });

  duty('of many concurrent inserts of one id, one succeeds', async () => {
    const { must, store, things } = use();
    const all = await things();
    const results = await Promise.allSettled(
      Array.from({ length: 16 }, async (_, at) => {
        const unit = store.begin();
        unit.insert(all, { id: 'a', name: `by ${at}` });
        await unit.commit();
        return at;
      }),
    );
    const won = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    const lost = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    expect(won).toHaveLength(1);
    for (const reason of lost) expect(reason).toBeInstanceOf(LostRace);
    expect((await must(all, 'a')).name).toBe(`by ${won[0]}`);
  });

  duty('concurrent increments all count and lose no race', async () => {
    const { must, store, things } = use();
    const all = await things();
    await Promise.all(
      Array.from({ length: 40 }, async (_, at) => {
        const unit = store.begin();
        unit.increment(all, 'sum', 'rank', at, { name: 'sum' });
        unit.insert(all, { id: `id-${at}`, name: 'beside' });
        await unit.commit();
      }),
    );
    expect(await must(all, 'sum')).toStrictEqual({ id: 'sum', name: 'sum', rank: (39 * 40) / 2, version: 1 });
    expect(await all.count({ name: 'beside' })).toBe(40);
  });

  duty('of many concurrent units, only those with a conflict are refused', async () => {
    const { fill, must, store, things } = use();
    const all = await things();
    const [stale] = await fill(all, [{ id: 'stale' }, { id: 'taken', email: 'taken@x.test' }]);
    const other = store.begin();
    other.replace(all, stale as Thing, { ...(stale as Thing), name: 'changed' });
    await other.commit();
    const results = await Promise.allSettled(
      Array.from({ length: 30 }, async (_, at) => {
        const unit = store.begin();
        unit.increment(all, 'sum', 'rank', 1, { name: 'sum' });
        unit.insert(all, { id: `id-${at}`, name: 'new', ...(at % 10 === 3 && { email: 'taken@x.test' }) });
        if (at % 10 === 7) unit.replace(all, stale as Thing, { ...(stale as Thing), name: 'late' });
        await unit.commit();
      }),
    );
    const refusals = results.map((result) => (result.status === 'fulfilled' ? 'none' : result.reason.constructor.name));
    const expected = Array.from({ length: 30 }, (_, at) =>
      at % 10 === 3 ? UniqueTaken.name : at % 10 === 7 ? LostRace.name : 'none',
    );
    expect(refusals).toEqual(expected);
    expect((await must(all, 'sum')).rank).toBe(24);
    expect(await all.count({ name: 'new' })).toBe(24);
  });

  duty('concurrent transfers between records keep the total', async () => {
    const { fill, store, things } = use();
    const [one, two] = [await things(), await things()];
    const names = ['a', 'b', 'c', 'd'];
    await fill(
      one,
      names.map((id) => ({ id, rank: 100 })),
    );
    await fill(
      two,
      names.map((id) => ({ id, rank: 100 })),
    );
    const transfer = async (at: number): Promise<void> => {
      const unit = store.begin();
      const from = await unit.get(one, names[at % 4] ?? '');
      const to = await unit.get(two, names[(at * 3) % 4] ?? '');
      if (from === undefined || to === undefined) throw new Error('both are there');
      unit.replace(one, from, { ...from, rank: (from.rank ?? 0) - at });
      unit.replace(two, to, { ...to, rank: (to.rank ?? 0) + at });
      await unit.commit();
    };
    await Promise.all(Array.from({ length: 24 }, (_, at) => settle(() => transfer(at))));
    expect(await one.sum('rank', {})).toBe(400 - (23 * 24) / 2);
    expect(await two.sum('rank', {})).toBe(400 + (23 * 24) / 2);
  });

  duty('an acknowledged commit is visible to all', async () => {
    const { harness, store, things } = use();
    const all = await things();
    const elsewhere = harness.store('contract');
    const there = await elsewhere.collection(all.spec);
    for (let at = 0; at < 30; at++) {
      const unit = store.begin();
      unit.insert(all, { id: `id-${at}`, name: 'seen', kind: `k${at}` });
      await unit.commit();
      expect(await there.get(`id-${at}`)).toBeDefined();
      expect(await there.find({ where: { kind: `k${at}` }, limit: 9 })).toHaveLength(1);
      expect(await elsewhere.begin().get(there, `id-${at}`)).toBeDefined();
    }
  });
}
