import { expect } from '@jest/globals';
import { LostRace } from '../../store/port.js';
import { createEvent } from '../events/fixtures.js';
import type { Duties } from '../suite/duties.js';
import { type Bench, ids } from './harness.js';

export function expectationDuties(duty: Duties, use: () => Bench): void {
  duty('a unit that expects an unchanged record commits and leaves it unchanged', async () => {
    const { fill, must, store, things } = use();
    const [all, beside] = [await things(), await things()];
    const [a] = await fill(all, [{ id: 'a', tags: ['x'], note: null }]);
    const unit = store.begin();
    unit.expect(all, await must(all, 'a'));
    expect(unit.dirty).toBe(false);
    unit.insert(beside, { id: 'b', name: 'b' });
    expect(unit.dirty).toBe(true);
    expect(await unit.get(all, 'a')).toStrictEqual(a);
    await unit.commit();
    expect(await must(all, 'a')).toStrictEqual(a);
    expect(ids(await beside.find({ where: {}, limit: 9 }))).toEqual(['b']);
  });

  duty('a unit that expects a changed or deleted record loses the race', async () => {
    const { fill, must, store, things } = use();
    const [all, beside] = [await things(), await things()];
    await fill(all, [{ id: 'changed' }, { id: 'gone' }]);
    const [changed, gone] = [await must(all, 'changed'), await must(all, 'gone')];
    const unit = store.begin();
    unit.replace(all, changed, { id: 'changed', name: 'newer' });
    unit.remove(all, gone);
    await unit.commit();
    for (const record of [changed, gone]) {
      const next = store.begin();
      next.insert(beside, { id: 'b', name: 'b' });
      next.publish(createEvent('expecting'));
      next.expect(all, record);
      await expect(next.commit()).rejects.toMatchObject({ name: 'LostRace', collection: all.spec.name, id: record.id });
    }
    expect(await beside.count({})).toBe(0);
  });

  duty('units that expect the same record at the same time all commit, until it is written', async () => {
    const { fill, must, store, things } = use();
    const all = await things();
    await fill(all, [{ id: 'parent' }]);
    const parent = await must(all, 'parent');
    const commit = (id: string) => {
      const unit = store.begin();
      unit.expect(all, parent);
      unit.insert(all, { id, name: id });
      return unit.commit();
    };
    const children = Array.from({ length: 20 }, (_, i) => `c${i}`);
    await Promise.all(children.map(commit));
    expect(await all.count({ name: { prefix: 'c' } })).toBe(children.length);
    expect(await must(all, 'parent')).toStrictEqual(parent);
    const unit = store.begin();
    unit.replace(all, parent, { id: 'parent', name: 'renamed' });
    const late = Array.from({ length: 5 }, (_, i) => `late ${i}`);
    await unit.commit();
    const results = await Promise.allSettled(late.map(commit));
    expect(results.map(({ status }) => status)).toEqual(late.map(() => 'rejected'));
    expect(await all.count({ name: { prefix: 'late' } })).toBe(0);
  });

  duty('a unit can expect and write the same record', async () => {
    const { fill, must, store, things } = use();
    const all = await things();
    await fill(all, [{ id: 'a' }, { id: 'b' }]);
    const unit = store.begin();
    const [a, b] = [await must(all, 'a'), await must(all, 'b')];
    unit.expect(all, a);
    const after = unit.replace(all, a, { id: 'a', name: 'changed' });
    unit.expect(all, after);
    unit.expect(all, b);
    unit.remove(all, b);
    await unit.commit();
    expect(await all.find({ where: {}, limit: 9 })).toEqual([{ id: 'a', name: 'changed', version: 2 }]);
  });

  duty('of two units that expect what the other one writes, one loses the race', async () => {
    const { fill, must, store, things } = use();
    const [one, two] = [await things(), await things()];
    for (let round = 0; round < 10; round++) {
      const id = `r${round}`;
      await fill(one, [{ id, active: true }]);
      await fill(two, [{ id, active: true }]);
      const [left, right] = [store.begin(), store.begin()];
      const [a, b] = [await must(one, id), await must(two, id)];
      left.expect(one, a);
      left.replace(two, b, { ...b, active: false });
      right.expect(two, b);
      right.replace(one, a, { ...a, active: false });
      const results = await Promise.allSettled([left.commit(), right.commit()]);
      const lost = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
      expect(lost.length).toBeGreaterThanOrEqual(1);
      for (const reason of lost) expect(reason).toBeInstanceOf(LostRace);
      expect([(await must(one, id)).active, (await must(two, id)).active]).toContain(true);
    }
  });
}
