import { expect } from '@jest/globals';
import type { Duties } from '../suite/duties.js';
import { eventually } from '../suite/eventually.js';
import { type Bench, idsOf } from './harness.js';

export function watchDuties(duty: Duties, use: () => Bench): void {
  duty('every watcher is notified of each event once', () =>
    use().scene(async ({ all, bus, event, root }) => {
      await bus.publish([event('before')]);
      const seen: [string[], string[], string[]] = [[], [], []];
      const there = await use().harness.another();
      const watchers = [
        await bus.watch(all, ({ id }) => seen[0].push(id)),
        await there.watch(all, ({ id }) => seen[1].push(id)),
        await bus.watch([`${root}.thing.made`], ({ id }) => seen[2].push(id)),
      ];
      const made = event('b', {}, 'made');
      const events = [event('a'), made, event('a')];
      await bus.publish(events);
      await bus.publish(events);
      const last = event('c', {}, 'made');
      await bus.publish([last]);
      await eventually(() => expect(seen.map((ids) => ids.at(-1))).toEqual([last.id, last.id, last.id]));
      expect([...seen[0]].sort()).toEqual(idsOf([...events, last]).sort());
      expect([...seen[1]].sort()).toEqual(idsOf([...events, last]).sort());
      expect(seen[2]).toEqual([made.id, last.id]);
      await Promise.all(watchers.map((watcher) => watcher.close()));
    }),
  );

  duty('a watcher that is closed or throws does not affect others', () =>
    use().scene(async ({ all, bus, event }) => {
      const seen: string[] = [];
      const closed: string[] = [];
      const throwing = await bus.watch(all, () => {
        throw new Error('a watcher fails');
      });
      const gone = await bus.watch(all, ({ id }) => closed.push(id));
      const watcher = await bus.watch(all, ({ id }) => seen.push(id));
      await gone.close();
      const events = [event('a'), event('a')];
      for (const one of events) await bus.publish([one]);
      await eventually(() => expect(seen).toEqual(idsOf(events)));
      expect(closed).toEqual([]);
      await Promise.all([throwing.close(), watcher.close()]);
    }),
  );
}
