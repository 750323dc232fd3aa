import { expect } from '@jest/globals';
import { UniqueTaken } from '../../store/port.js';
import { createEvent } from '../events/fixtures.js';
import type { Duties } from '../suite/duties.js';
import { type Bench, ids } from './harness.js';

export function durabilityDuties(duty: Duties, use: () => Bench): void {
  duty('records, indexes and events outlive the process that made them', async () => {
    const { again, fill, must, reopen, store, things } = use();
    const before = await things();
    const body = { 'a.$b': [0.1, null, '😀'] };
    await fill(before, [{ id: 'a', email: 'a@x.org', tags: ['x'], body }, { id: 'b' }, { id: 'c' }]);
    const unit = store.begin();
    unit.replace(before, await must(before, 'b'), { id: 'b', name: 'changed' });
    unit.remove(before, await must(before, 'c'));
    unit.increment(before, 'd', 'rank', 4, { name: 'd' });
    const event = createEvent('durable');
    unit.publish(event);
    await unit.commit();

    await reopen();
    const all = await again(before);
    const now = use().store;
    expect(await must(all, 'a')).toMatchObject({ version: 1, body });
    expect(await must(all, 'b')).toStrictEqual({ id: 'b', name: 'changed', version: 2 });
    expect(ids(await all.find({ where: {}, limit: 9 }))).toEqual(['a', 'b', 'd']);
    expect(ids(await all.find({ where: { tags: { contains: 'x' } }, limit: 9 }))).toEqual(['a']);
    const twice = now.begin();
    twice.insert(all, { id: 'e', name: 'e', email: 'a@x.org' });
    await expect(twice.commit()).rejects.toBeInstanceOf(UniqueTaken);
    expect((await use().harness.events('contract')).map(({ id }) => id)).toContain(event.id);
  });

  duty('an acknowledged unit exists after each reopening', async () => {
    const { things } = use();
    const spec = (await things()).spec;
    for (let at = 0; at < 3; at++) {
      const { store } = use();
      const all = await store.collection(spec);
      const unit = store.begin();
      unit.insert(all, { id: `id-${at}`, name: 'x' });
      unit.increment(all, 'sum', 'rank', 1, {});
      await unit.commit();
      await use().reopen();
    }
    const all = await use().store.collection(spec);
    expect(await all.count({ name: 'x' })).toBe(3);
    expect((await all.get('sum'))?.rank).toBe(3);
  });
}
