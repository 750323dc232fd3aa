import { expect } from '@jest/globals';
import { UniqueTaken } from '../../store/port.js';
import type { Duties } from '../suite/duties.js';
import { type Bench, ids } from './harness.js';

export function uniqueDuties(duty: Duties, use: () => Bench): void {
  duty('insert and replace refuse a value that is taken', async () => {
    const { fill, must, store, things } = use();
    const all = await things();
    await fill(all, [
      { id: 'a', email: 'a@x.org' },
      { id: 'b', email: 'b@x.org' },
    ]);
    let unit = store.begin();
    unit.insert(all, { id: 'c', name: 'c', email: 'a@x.org' });
    const taken = await unit.commit().catch((error: unknown) => error);
    expect(taken).toBeInstanceOf(UniqueTaken);
    expect(taken).toMatchObject({ collection: all.spec.name, field: 'email' });
    unit = store.begin();
    unit.replace(all, await must(all, 'b'), { id: 'b', name: 'b', email: 'a@x.org' });
    await expect(unit.commit()).rejects.toMatchObject({ name: 'UniqueTaken', field: 'email' });
    unit = store.begin();
    unit.insert(all, { id: 'd', name: 'd', email: 'new@x.org' });
    unit.insert(all, { id: 'e', name: 'e', email: 'new@x.org' });
    await expect(unit.commit()).rejects.toMatchObject({ name: 'UniqueTaken', field: 'email' });
    expect(ids(await all.find({ where: {}, limit: 9 }))).toEqual(['a', 'b']);
    expect((await must(all, 'b')).email).toBe('b@x.org');
  });

  duty('values differ by case and by every character', async () => {
    const { fill, things } = use();
    const all = await things();
    const emails = ['a@x.org', 'A@x.org', 'a@x.org ', '', 'é', 'e\u0301', '$a', '\u0000'];
    await fill(
      all,
      emails.map((email, at) => ({ id: `id-${at}`, email })),
    );
    for (const [at, email] of emails.entries()) {
      expect(ids(await all.find({ where: { email }, limit: 9 }))).toEqual([`id-${at}`]);
    }
  });

  duty('records without the field are not compared', async () => {
    const { fill, must, store, things } = use();
    const all = await things();
    await fill(all, [{ id: 'a' }, { id: 'b' }, { id: 'c', email: null }, { id: 'd', email: null }]);
    await fill(all, [
      { id: 'e', email: undefined },
      { id: 'f', email: 'f@x.org' },
    ]);
    const unit = store.begin();
    const { email: _, ...without } = await must(all, 'f');
    unit.replace(all, await must(all, 'f'), without);
    await unit.commit();
    expect(await all.count({ email: { exists: false } })).toBe(6);
  });

  duty('a record keeps its own value, and releases it when it is deleted', async () => {
    const { fill, must, store, things } = use();
    const all = await things();
    await fill(all, [{ id: 'a', email: 'a@x.org' }]);
    let unit = store.begin();
    const after = unit.replace(all, await must(all, 'a'), { id: 'a', name: 'other', email: 'a@x.org' });
    await unit.commit();
    unit = store.begin();
    unit.remove(all, after);
    unit.insert(all, { id: 'b', name: 'b', email: 'a@x.org' });
    await unit.commit();
    expect(ids(await all.find({ where: { email: 'a@x.org' }, limit: 9 }))).toEqual(['b']);
    unit = store.begin();
    unit.replace(all, await must(all, 'b'), { id: 'b', name: 'b', email: 'b@x.org' });
    await unit.commit();
    await fill(all, [{ id: 'c', email: 'a@x.org' }]);
    expect(ids(await all.find({ where: { email: 'a@x.org' }, limit: 9 }))).toEqual(['c']);
  });

  duty('a unit can give a value that one record releases to another', async () => {
    const { fill, store, things } = use();
    const all = await things();
    const [a, b] = await fill(all, [{ id: 'a', email: 'a@x.org' }, { id: 'b' }]);
    if (a === undefined || b === undefined) throw new Error('both were made');
    const unit = store.begin();
    unit.replace(all, a, { id: 'a', name: 'a', email: 'new@x.org' });
    unit.replace(all, b, { id: 'b', name: 'b', email: 'a@x.org' });
    await unit.commit();
    expect(ids(await all.find({ where: { email: 'a@x.org' }, limit: 9 }))).toEqual(['b']);
  });

  duty('of many units that want a value at once, one gets it', async () => {
    const { store, things } = use();
    const all = await things();
    const attempts = Array.from({ length: 16 }, async (_, at) => {
      const unit = store.begin();
      unit.insert(all, { id: `id-${at}`, name: 'same', email: 'one@x.org' });
      unit.insert(all, { id: `other-${at}`, name: 'other' });
      await unit.commit();
    });
    const results = await Promise.allSettled(attempts);
    const lost = results.filter((result) => result.status === 'rejected');
    expect(lost).toHaveLength(15);
    for (const { reason } of lost) expect(reason).toBeInstanceOf(UniqueTaken);
    expect(await all.count({})).toBe(2);
  });
}
