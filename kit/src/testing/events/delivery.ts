import { expect } from '@jest/globals';
import type { Duties } from '../suite/duties.js';
import { eventually } from '../suite/eventually.js';
import { type Bench, idsOf, settled } from './harness.js';

export function deliveryDuties(duty: Duties, use: () => Bench): void {
  duty('an event arrives as it was published', () =>
    use().scene(async ({ bus, event, record }) => {
      const odd = { $gt: '', 'a.b': [0.1, null, '😀\u0000'], long: 'x'.repeat(60_000) };
      const { tenant: _, actor: __, chain: ___, ...least } = event('least');
      const published = [event('a', odd), { ...event('b'), requestid: 'req_1', traceparent: '00-1-2-01' }, least];
      const got = await record();
      await bus.publish(published);
      await eventually(() => expect(got.done).toHaveLength(3));
      expect(got.calls.flat().sort((a, b) => a.subject.localeCompare(b.subject))).toEqual(published);
    }),
  );

  duty('each consumer gets every event, and a new consumer starts with the first', () =>
    use().scene(async ({ bus, consumer, record, row }) => {
      const events = [...row('a', 20), ...row('b', 20)];
      const early = await record({ consumer: `${consumer}-early` });
      await bus.publish(events);
      const late = await record({ consumer: `${consumer}-late` });
      for (const { done } of [early, late]) {
        await eventually(() => expect(done.length).toBeGreaterThanOrEqual(40));
        expect([...done].sort()).toEqual(idsOf(events).sort());
      }
    }),
  );

  duty('a new consumer can start with new events only', () =>
    use().scene(async ({ bus, event, record }) => {
      const [before, after] = [event('a'), event('a')];
      await bus.publish([before]);
      const got = await record({ from: 'now' });
      await bus.publish([after]);
      await eventually(() => expect(got.done).toEqual([after.id]));
    }),
  );

  duty('a consumer gets the types that it subscribed to, and no others', () =>
    use().scene(async ({ bus, consumer, event, record, root }) => {
      const verbs = ['changed', 'made', 'gone'];
      const [changed, made, gone] = verbs.map((verb) => event('a', {}, verb).id);
      const exact = await record({ consumer: `${consumer}-1`, types: [`${root}.thing.made`] });
      const several = await record({ consumer: `${consumer}-2`, types: [`${root}.thing.made`, `${root}.thing.gone`] });
      const none = await record({ consumer: `${consumer}-3`, types: [`${root}.thin.>`, `${root}.thing.mad`] });
      const prefix = await record({ consumer: `${consumer}-4`, types: [`${root}.thing.>`] });
      const ids = [changed, made, gone] as string[];
      await bus.publish(verbs.map((verb, at) => ({ ...event('a', {}, verb), id: ids[at] as string })));
      await eventually(() => expect(prefix.done).toEqual(ids));
      await eventually(() => expect(several.done).toEqual([made, gone]));
      await eventually(() => expect(exact.done).toEqual([made]));
      await settled(bus, `${consumer}-3`);
      expect(none.calls).toEqual([]);
    }),
  );

  duty('an id that is published again is not delivered as another event', () =>
    use().scene(async ({ bus, event, record }) => {
      const [first, second, last] = [event('a'), event('a'), event('a')];
      const got = await record();
      await bus.publish([first, first]);
      await bus.publish([first, second]);
      await Promise.all([bus.publish([second]), bus.publish([second])]);
      await bus.publish([last]);
      await eventually(() => expect(got.done).toContain(last.id));
      expect(got.done).toEqual(idsOf([first, second, last]));
    }),
  );

  duty('a handler gets one event per call, or up to a batch', () =>
    use().scene(async ({ bus, consumer, record, row }) => {
      await bus.publish([...row('a', 25), ...row('b', 25)]);
      const single = await record({ consumer: `${consumer}-1` });
      const batched = await record({ consumer: `${consumer}-2`, batch: 10 });
      for (const { done } of [single, batched]) await eventually(() => expect(done).toHaveLength(50));
      const sizes = (calls: readonly (readonly unknown[])[]) => Math.max(...calls.map((call) => call.length));
      expect(sizes(single.calls)).toBe(1);
      expect(sizes(batched.calls)).toBeGreaterThan(1);
      expect(sizes(batched.calls)).toBeLessThanOrEqual(10);
    }),
  );

  duty('publishes many events at once, and an empty list', () =>
    use().scene(async ({ bus, event, record }) => {
      await bus.publish([]);
      const got = await record({ batch: 100 });
      const events = Array.from({ length: 1500 }, (_, n) => event(`s${n % 300}`, { n }));
      await bus.publish(events);
      await eventually(() => expect(got.done.length).toBeGreaterThanOrEqual(1500), 30_000);
      expect([...got.done].sort()).toEqual(idsOf(events).sort());
    }),
  );

  duty('subjects with special characters are treated as data', () =>
    use().scene(async ({ bus, event, record }) => {
      const subjects = ['a.b', '*', '>', ' ', '', '漢字 😀', 'a\nb', '$x', '../x', 'x'.repeat(300)];
      const events = subjects.map((subject) => event(subject));
      const got = await record();
      await bus.publish(events);
      await eventually(() => expect(got.done).toHaveLength(events.length));
      expect(
        got.calls
          .flat()
          .map((seen) => seen.subject)
          .sort(),
      ).toEqual([...subjects].sort());
    }),
  );
}
