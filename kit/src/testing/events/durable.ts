import { expect } from '@jest/globals';
import type { DomainEvent } from '../../events/port.js';
import type { Duties } from '../suite/duties.js';
import { eventually } from '../suite/eventually.js';
import { type Bench, dawdle, idsOf, settled } from './harness.js';

export function durableDuties(duty: Duties, use: () => Bench): void {
  duty('a consumer continues where it stopped', () =>
    use().scene(async ({ bus, consumer, record, row }) => {
      const events = row('a', 9);
      let got = await record();
      await bus.publish(events.slice(0, 3));
      await settled(bus, consumer);
      await got.close();
      expect(got.done).toEqual(idsOf(events.slice(0, 3)));
      await bus.publish(events.slice(3, 6));
      got = await record({ from: 'now' });
      await bus.publish(events.slice(6));
      await settled(bus, consumer);
      expect(got.done).toEqual(idsOf(events.slice(3)));
    }),
  );

  duty('lag counts the events that are not handled yet', () =>
    use().scene(async ({ bus, consumer, record, row }) => {
      expect(await bus.lag(`${consumer}-unknown`)).toBe(0);
      const got = await record();
      await got.close();
      expect(await bus.lag(consumer)).toBe(0);
      await bus.publish(row('a', 5));
      expect(await bus.lag(consumer)).toBe(5);
      let open = (): void => {};
      const gate = new Promise<void>((resolve) => {
        open = resolve;
      });
      const next = await record({}, () => gate);
      await eventually(() => expect(next.calls).toHaveLength(1));
      expect(await bus.lag(consumer)).toBe(5);
      open();
      await settled(bus, consumer);
      expect(next.done).toHaveLength(5);
    }),
  );

  duty('close waits for the running handler and takes no further events', () =>
    use().scene(async ({ bus, consumer, record, row }) => {
      const events = row('a', 10);
      let open = (): void => {};
      const gate = new Promise<void>((resolve) => {
        open = resolve;
      });
      const first = await record({}, () => gate);
      await bus.publish(events);
      await eventually(() => expect(first.calls).toHaveLength(1));
      let closed = false;
      const closing = first.close().then(() => {
        closed = true;
      });
      await dawdle(50);
      expect(closed).toBe(false);
      open();
      await closing;
      expect(first.done).toEqual(idsOf(events.slice(0, 1)));
      const second = await record();
      await settled(bus, consumer);
      expect(second.done).toEqual(idsOf(events.slice(1)));
    }),
  );

  duty('unfinished events are delivered to the next instance', () =>
    use().scene(async ({ bus, consumer, record, row }) => {
      const events = row('a', 40);
      await bus.publish(events);
      const done: string[] = [];
      for (let instance = 0; instance < 8; instance++) {
        const got = await record({ batch: 4 }, () => dawdle(5));
        await dawdle(60);
        await got.close();
        done.push(...got.done);
      }
      const last = await record();
      await settled(bus, consumer);
      expect([...done, ...last.done]).toEqual(idsOf(events));
    }),
  );

  duty('closing while an event fails loses neither it nor later events', () =>
    use().scene(async ({ bus, consumer, record, row }) => {
      const events = row('a', 5);
      await bus.publish(events);
      const first = await record({ retryMs: 30_000 }, () => {
        throw new Error('not here');
      });
      await eventually(() => expect(first.calls).toHaveLength(1));
      await first.close();
      const second = await record();
      await settled(bus, consumer);
      expect(second.done).toEqual(idsOf(events));
    }),
  );

  duty('another instance takes over when one closes', () =>
    use().scene(async ({ bus, consumer, record, row }) => {
      const first = await record();
      const second = await record({}, undefined, await use().harness.another());
      const events = row('a', 30);
      await bus.publish(events.slice(0, 10));
      await settled(bus, consumer);
      await first.close();
      await bus.publish(events.slice(10, 20));
      await settled(bus, consumer);
      await second.close();
      await record();
      await bus.publish(events.slice(20));
      await settled(bus, consumer);
      expect([...first.done, ...second.done]).toHaveLength(20);
    }),
  );

  duty('events, positions and parked events outlive the process', async () => {
    await use().scene(async ({ consumer, record, row }) => {
      const events = row('a', 6);
      const poison = events[1] as DomainEvent;
      const fails = ([event]: readonly DomainEvent[]) => {
        if (event?.id === poison.id) throw new Error('never works');
      };
      const first = await record({ maxAttempts: 1 }, fails);
      await use().harness.bus.publish(events.slice(0, 3));
      await settled(use().harness.bus, consumer);
      await first.close();
      await use().harness.bus.publish(events.slice(3));

      await use().reopen();
      const { bus } = use().harness;
      expect(await bus.parked(consumer)).toMatchObject([{ event: poison, attempts: 1 }]);
      expect(await bus.lag(consumer)).toBe(3);
      const second = await record();
      await settled(bus, consumer);
      expect(second.done).toEqual(idsOf(events.slice(3)));
      expect(await bus.unpark(consumer)).toBe(1);
      await eventually(() => expect(second.done.at(-1)).toBe(poison.id));
      const fresh = await record({ consumer: `${consumer}-fresh` });
      await eventually(() => expect(fresh.done).toEqual(idsOf(events)));
    });
  });
}
