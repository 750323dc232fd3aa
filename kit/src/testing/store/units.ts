import { expect } from '@jest/globals';
import { LostRace } from '../../store/port.js';
import type { Duties } from '../suite/duties.js';
import { type Bench, ids } from './harness.js';

export function unitDuties(duty: Duties, use: () => Bench): void {
  duty('insert sets version 1, replace adds 1, and remove deletes', async () => {
    const { fill, must, store, things } = use();
    const all = await things();
    const [made] = await fill(all, [{ id: 'a' }]);
    expect(made?.version).toBe(1);
    for (const version of [2, 3, 4]) {
      const unit = store.begin();
      const after = unit.replace(all, await must(all, 'a'), { id: 'a', name: `v${version}` });
      await unit.commit();
      expect(after.version).toBe(version);
      expect(await must(all, 'a')).toStrictEqual({ id: 'a', name: `v${version}`, version });
    }
    const unit = store.begin();
    unit.remove(all, await must(all, 'a'));
    await unit.commit();
    expect(await all.get('a')).toBeUndefined();
  });

  duty('nothing is written before the commit', async () => {
    const { fill, must, store, things } = use();
    const all = await things();
    await fill(all, [{ id: 'a' }, { id: 'b' }]);
    const unit = store.begin();
    expect(unit.dirty).toBe(false);
    unit.insert(all, { id: 'c', name: 'c' });
    unit.replace(all, await must(all, 'a'), { id: 'a', name: 'changed' });
    unit.remove(all, await must(all, 'b'));
    unit.increment(all, 'd', 'rank', 1, {});
    expect(unit.dirty).toBe(true);
    expect(ids(await all.find({ where: {}, limit: 9 }))).toEqual(['a', 'b']);
    expect((await must(all, 'a')).name).toBe('a');
    await unit.commit();
    expect(ids(await all.find({ where: {}, limit: 9 }))).toEqual(['a', 'c', 'd']);
  });

  duty('a unit reads its own writes', async () => {
    const { fill, store, things } = use();
    const all = await things();
    await fill(all, [{ id: 'a', rank: 1 }, { id: 'b' }]);
    const unit = store.begin();
    const a = await unit.get(all, 'a');
    const b = await unit.get(all, 'b');
    if (a === undefined || b === undefined) throw new Error('a and b are there');
    expect(await unit.get(all, 'c')).toBeUndefined();
    const made = unit.insert(all, { id: 'c', name: 'c' });
    expect(await unit.get(all, 'c')).toEqual(made);
    const second = unit.replace(all, a, { ...a, name: 'second' });
    expect(await unit.get(all, 'a')).toEqual({ id: 'a', name: 'second', rank: 1, version: 2 });
    unit.replace(all, second, { ...second, name: 'third' });
    unit.increment(all, 'a', 'rank', 5, {});
    expect(await unit.get(all, 'a')).toEqual({ id: 'a', name: 'third', rank: 6, version: 3 });
    unit.remove(all, b);
    expect(await unit.get(all, 'b')).toBeUndefined();
    unit.increment(all, 'd', 'rank', 2, { name: 'd' });
    unit.increment(all, 'd', 'rank', 3, { name: 'other' });
    expect(await unit.get(all, 'd')).toEqual({ id: 'd', name: 'd', rank: 5, version: 1 });
    const expected = await Promise.all(['a', 'b', 'c', 'd'].map((id) => unit.get(all, id)));
    await unit.commit();
    expect(await Promise.all(['a', 'b', 'c', 'd'].map((id) => all.get(id)))).toEqual(expected);
  });

  duty('a record can be inserted, changed and removed within one unit', async () => {
    const { fill, must, store, things } = use();
    const all = await things();
    await fill(all, [{ id: 'old' }]);
    const unit = store.begin();
    unit.remove(all, unit.replace(all, unit.insert(all, { id: 'brief', name: '1' }), { id: 'brief', name: '2' }));
    unit.remove(all, await must(all, 'old'));
    unit.insert(all, { id: 'old', name: 'again' });
    await unit.commit();
    expect(await all.get('brief')).toBeUndefined();
    expect(await must(all, 'old')).toStrictEqual({ id: 'old', name: 'again', version: 1 });
  });

  duty('a changed record makes the commit reject with LostRace, which names it', async () => {
    const { fill, must, store, things } = use();
    const all = await things();
    await fill(all, [{ id: 'a' }]);
    const stale = await must(all, 'a');
    let unit = store.begin();
    unit.replace(all, stale, { id: 'a', name: 'first' });
    await unit.commit();

    unit = store.begin();
    unit.replace(all, stale, { id: 'a', name: 'second' });
    const lost = await unit.commit().catch((error: unknown) => error);
    expect(lost).toBeInstanceOf(LostRace);
    expect(lost).toMatchObject({ collection: all.spec.name, id: 'a' });

    unit = store.begin();
    unit.remove(all, stale);
    await expect(unit.commit()).rejects.toBeInstanceOf(LostRace);
    expect(await must(all, 'a')).toStrictEqual({ id: 'a', name: 'first', version: 2 });
  });

  duty('a deleted record, or an id that exists already, makes the commit reject with LostRace', async () => {
    const { fill, must, store, things } = use();
    const all = await things();
    await fill(all, [{ id: 'a' }, { id: 'b' }]);
    const gone = await must(all, 'a');
    let unit = store.begin();
    unit.remove(all, gone);
    await unit.commit();

    unit = store.begin();
    unit.replace(all, gone, { id: 'a', name: 'back' });
    await expect(unit.commit()).rejects.toMatchObject({ name: 'LostRace', id: 'a' });
    unit = store.begin();
    unit.remove(all, gone);
    await expect(unit.commit()).rejects.toMatchObject({ name: 'LostRace', id: 'a' });
    unit = store.begin();
    unit.insert(all, { id: 'b', name: 'twice' });
    await expect(unit.commit()).rejects.toMatchObject({ name: 'LostRace', collection: all.spec.name, id: 'b' });
    expect(ids(await all.find({ where: {}, limit: 9 }))).toEqual(['b']);
  });

  duty('a unit over several collections takes effect completely or not at all', async () => {
    const { fill, must, store, things } = use();
    const [one, two] = [await things(), await things()];
    await fill(one, [{ id: 'a', rank: 0 }, { id: 'stale' }]);
    await fill(two, [{ id: 'b' }, { id: 'taken' }]);
    const stale = await must(one, 'stale');
    let unit = store.begin();
    unit.replace(one, stale, { id: 'stale', name: 'newer' });
    await unit.commit();

    const work = async () => {
      const next = store.begin();
      next.insert(two, { id: 'new', name: 'new' });
      next.replace(one, await must(one, 'a'), { id: 'a', name: 'changed' });
      next.remove(two, await must(two, 'b'));
      next.increment(two, 'sum', 'rank', 1, {});
      return next;
    };
    unit = await work();
    unit.replace(one, stale, { id: 'stale', name: 'lost' });
    await expect(unit.commit()).rejects.toBeInstanceOf(LostRace);
    unit = await work();
    unit.insert(two, { id: 'taken', name: 'lost' });
    await expect(unit.commit()).rejects.toBeInstanceOf(LostRace);
    expect((await must(one, 'a')).name).toBe('a');
    expect(ids(await two.find({ where: {}, limit: 9 }))).toEqual(['b', 'taken']);

    await (await work()).commit();
    expect((await must(one, 'a')).name).toBe('changed');
    expect(ids(await two.find({ where: {}, limit: 9 }))).toEqual(['new', 'sum', 'taken']);
  });

  duty('increment adds to a record, or creates a missing one', async () => {
    const { fill, must, store, things } = use();
    const all = await things();
    await fill(all, [{ id: 'there', rank: 10, kind: 'kept' }, { id: 'without' }]);
    const unit = store.begin();
    unit.increment(all, 'there', 'rank', -3, { kind: 'not this' });
    unit.increment(all, 'without', 'amount', 0.25, {});
    unit.increment(all, 'new', 'rank', 2 ** 40, { name: 'new', tenant: 't', tags: ['$x'], body: { 'a.b': [] } });
    await unit.commit();
    expect(await must(all, 'there')).toStrictEqual({ id: 'there', name: 'there', rank: 7, kind: 'kept', version: 1 });
    expect(await must(all, 'without')).toStrictEqual({ id: 'without', name: 'without', amount: 0.25, version: 1 });
    const fixed = { name: 'new', tenant: 't', tags: ['$x'], body: { 'a.b': [] } };
    expect(await must(all, 'new')).toStrictEqual({ id: 'new', ...fixed, rank: 2 ** 40, version: 1 });
    expect(await all.sum('rank', { tenant: 't' })).toBe(2 ** 40);
  });

  duty('an empty unit commits', async () => {
    const unit = use().store.begin();
    await unit.commit();
    expect(unit.dirty).toBe(false);
  });

  duty('a unit of a thousand records commits', async () => {
    const { fill, store, things } = use();
    const all = await things();
    const made = await fill(
      all,
      Array.from({ length: 1000 }, (_, at) => ({ id: `id-${at}`, rank: at })),
    );
    const unit = store.begin();
    for (const record of made) unit.replace(all, record, { ...record, kind: 'moved' });
    await unit.commit();
    expect(await all.count({ kind: 'moved', version: 2 })).toBe(1000);
  });
}
