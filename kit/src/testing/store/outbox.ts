import { expect } from '@jest/globals';
import type { DomainEvent } from '../../events/port.js';
import { LostRace } from '../../store/port.js';
import { createEvent } from '../events/fixtures.js';
import type { Duties } from '../suite/duties.js';
import { eventually } from '../suite/eventually.js';
import type { Bench } from './harness.js';

export function outboxDuties(duty: Duties, use: () => Bench): void {
  /** Waits until this test has as many events as expected, and returns them in order. */
  const events = (subject: string, count: number): Promise<DomainEvent[]> =>
    eventually(async () => {
      const all = await use().harness.events('contract');
      const mine = all.filter((event) => event.subject.startsWith(subject));
      expect(mine.length).toBeGreaterThanOrEqual(count);
      return mine;
    });

  duty('events of a unit are delivered unchanged and in their order', async () => {
    const { store, things } = use();
    const all = await things();
    const unit = store.begin();
    unit.insert(all, { id: 'a', name: 'a' });
    const published = Array.from({ length: 25 }, (_, at) =>
      createEvent('order', { $set: at, 'a.b': { c: [at, null, '😀'] }, text: '\u0000' }),
    );
    for (const event of published) unit.publish(event);
    await unit.commit();
    expect(await events('order', 25)).toEqual(published);
  });

  duty('a unit of events alone can be committed', async () => {
    const unit = use().store.begin();
    unit.publish(createEvent('alone'));
    expect(unit.dirty).toBe(true);
    await unit.commit();
    expect(await events('alone', 1)).toHaveLength(1);
  });

  duty('the events of a failed unit are never delivered', async () => {
    const { fill, must, store, things } = use();
    const all = await things();
    await fill(all, [{ id: 'a' }]);
    const stale = await must(all, 'a');
    let unit = store.begin();
    unit.publish(createEvent('failing-1'));
    unit.replace(all, stale, { id: 'a', name: 'newer' });
    await unit.commit();
    unit = store.begin();
    unit.publish(createEvent('failing-2'));
    unit.replace(all, stale, { id: 'a', name: 'lost' });
    await expect(unit.commit()).rejects.toBeInstanceOf(LostRace);
    unit = store.begin();
    unit.publish(createEvent('failing-3'));
    await unit.commit();
    const seen = await events('failing', 2);
    expect(seen.map((event) => event.subject)).toEqual(['failing-1', 'failing-3']);
  });

  duty('events follow those that were acknowledged before their unit began', async () => {
    const { harness, things } = use();
    const stores = [harness.store('contract'), harness.store('contract')];
    const all = await things();
    const writer = async (lane: number): Promise<void> => {
      for (let at = 0; at < 20; at++) {
        const unit = stores[at % 2]?.begin();
        unit?.insert(all, { id: `${lane}-${at}`, name: 'x' });
        unit?.publish(createEvent(`lane-${lane}`, { at, part: 0 }));
        unit?.publish(createEvent(`lane-${lane}`, { at, part: 1 }));
        await unit?.commit();
      }
    };
    await Promise.all([0, 1, 2, 3].map(writer));
    const seen = await events('lane', 160);
    for (const lane of [0, 1, 2, 3]) {
      const mine = seen.filter((event) => event.subject === `lane-${lane}`).map((event) => event.data);
      expect(mine).toEqual(Array.from({ length: 40 }, (_, n) => ({ at: Math.floor(n / 2), part: n % 2 })));
    }
  });
}
