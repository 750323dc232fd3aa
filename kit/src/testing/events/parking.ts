import { expect } from '@jest/globals';
import { Unavailable } from '../../errors/index.js';
import type { DomainEvent } from '../../events/port.js';
import type { Duties } from '../suite/duties.js';
import { eventually } from '../suite/eventually.js';
import { type Bench, idsOf, settled } from './harness.js';

export function parkingDuties(duty: Duties, use: () => Bench): void {
  duty('a handler that fails gets the same event again', () =>
    use().scene(async ({ bus, consumer, record, row }) => {
      const events = row('a', 3);
      let failures = 0;
      const got = await record({}, () => {
        if (failures++ < 2) throw new Error('not yet');
      });
      await bus.publish(events);
      await eventually(() => expect(got.done).toEqual(idsOf(events)));
      const [first, second, third] = idsOf(events);
      expect(got.calls.map(([seen]) => seen?.id)).toEqual([first, first, first, second, third]);
      expect(await bus.parked(consumer)).toEqual([]);
    }),
  );

  duty('an event waits for an unavailable service and is not parked', () =>
    use().scene(async ({ bus, consumer, record, row }) => {
      const events = row('a', 2);
      let failures = 0;
      const got = await record({ maxAttempts: 1, retryMs: 1 }, () => {
        if (failures++ < 5) throw Unavailable();
      });
      await bus.publish(events);
      await eventually(() => expect(got.done).toEqual(idsOf(events)));
      expect(got.calls).toHaveLength(7);
      expect(await bus.parked(consumer)).toEqual([]);
    }),
  );

  duty('an event is parked after its last attempt and blocks no other events', () =>
    use().scene(async ({ bus, consumer, record, row }) => {
      const events = [...row('a', 4), ...row('b', 4)];
      const poison = events[1] as DomainEvent;
      const got = await record({ maxAttempts: 3 }, ([event]) => {
        if (event?.id === poison.id) throw new Error('never works');
      });
      await bus.publish(events);
      await settled(bus, consumer);
      expect(got.done.filter((id) => idsOf(events.slice(0, 4)).includes(id))).toEqual(
        idsOf(events.slice(0, 4)).filter((id) => id !== poison.id),
      );
      expect(got.done).toHaveLength(7);
      expect(got.calls.flat().filter(({ id }) => id === poison.id)).toHaveLength(3);
      expect(await bus.parked(consumer)).toEqual([
        { event: poison, attempts: 3, error: expect.stringContaining('never works') },
      ]);
      expect(await bus.parked(`${consumer}-other`)).toEqual([]);
    }),
  );

  duty('only the failing event of a batch is parked', () =>
    use().scene(async ({ bus, consumer, record, row }) => {
      const events = row('a', 12);
      const poison = idsOf(events)[4];
      await bus.publish(events);
      const got = await record({ batch: 12, maxAttempts: 3 }, (batch) => {
        if (batch.some(({ id }) => id === poison)) throw new Error('never works');
      });
      await settled(bus, consumer);
      expect(idsOf((await bus.parked(consumer)).map(({ event }) => event))).toEqual([poison]);
      expect(new Set(got.done)).toEqual(new Set(idsOf(events).filter((id) => id !== poison)));
    }),
  );

  duty('unpark delivers parked events to their consumer again, and to no other', () =>
    use().scene(async ({ bus, consumer, record, row }) => {
      const events = row('a', 6);
      const poisoned = idsOf(events.slice(1, 4));
      let mended = false;
      const beside = await record({ consumer: `${consumer}-beside` });
      const got = await record({ maxAttempts: 2 }, ([event]) => {
        if (!mended && poisoned.includes(event?.id ?? '')) throw new Error('not yet');
      });
      await bus.publish(events);
      await settled(bus, consumer);
      expect((await bus.parked(consumer)).map(({ event }) => event)).toEqual(events.slice(1, 4));
      mended = true;
      expect(await bus.unpark(consumer)).toBe(3);
      await eventually(() => expect(got.done).toHaveLength(6));
      expect(got.done.slice(3)).toEqual(poisoned);
      expect(await bus.parked(consumer)).toEqual([]);
      expect(await bus.unpark(consumer)).toBe(0);
      await settled(bus, `${consumer}-beside`);
      expect(beside.done).toEqual(idsOf(events));
    }),
  );

  duty('an operator lists consumers with parked events, and retries or drops some of them', () =>
    use().scene(async ({ bus, consumer: name, record, row }) => {
      // Names of services' consumers have dots, which names on some servers cannot have.
      const consumer = `tests.${name}`;
      const events = row('a', 4);
      let mended = false;
      const got = await record({ consumer, maxAttempts: 1 }, () => {
        if (!mended) throw new Error('not yet');
      });
      expect(await bus.parkedConsumers()).not.toContain(consumer);
      expect(await bus.consumers()).toContain(consumer);
      expect(await bus.consumers()).not.toContain(`${consumer}-other`);
      await bus.publish(events);
      await settled(bus, consumer);
      expect(await bus.parkedConsumers()).toContain(consumer);
      mended = true;
      const [first, second, third, fourth] = idsOf(events) as [string, string, string, string];
      expect(await bus.unpark(consumer, [second, 'no-such-event'])).toBe(1);
      await eventually(() => expect(got.done).toEqual([second]));
      expect(await bus.dropParked(consumer, [third, second])).toBe(1);
      expect(idsOf((await bus.parked(consumer)).map(({ event }) => event))).toEqual([first, fourth]);
      expect(await bus.dropParked(`${consumer}-other`)).toBe(0);
      expect(await bus.dropParked(consumer)).toBe(2);
      expect(await bus.parkedConsumers()).not.toContain(consumer);
      await settled(bus, consumer);
      expect(got.done).toEqual([second]);
    }),
  );

  duty('an event that fails again after unpark is parked again', () =>
    use().scene(async ({ bus, consumer, event, record }) => {
      const got = await record({ maxAttempts: 2 }, () => {
        throw new Error(`try ${got.calls.length}`);
      });
      const poison = event('a');
      await bus.publish([poison]);
      for (const calls of [2, 4, 6]) {
        await eventually(async () => expect(await bus.parked(consumer)).toHaveLength(1));
        expect(got.calls).toHaveLength(calls);
        const [parked] = await bus.parked(consumer);
        expect(parked).toMatchObject({ event: poison, error: `try ${calls}` });
        expect(await bus.unpark(consumer)).toBe(1);
      }
    }),
  );
}
