import { expect } from '@jest/globals';
import type { DomainEvent } from '../../events/port.js';
import type { Duties } from '../suite/duties.js';
import { eventually } from '../suite/eventually.js';
import { type Bench, dawdle, settled } from './harness.js';

/** Creates a check of the order of every subject: no event may start before the previous one is done. */
function createReferee() {
  const done = new Map<string, number>();
  const inWork = new Map<string, number>();
  const faults: string[] = [];
  return {
    faults,
    done,
    begin(events: readonly DomainEvent[]): void {
      for (const { subject, data } of events) {
        const n = data.n as number;
        const mine = events.filter((other) => other.subject === subject).map((other) => other.data.n as number);
        const next = (done.get(subject) ?? 0) + mine.indexOf(n);
        if (n > next) faults.push(`${subject}: ${n} began before ${next} was done`);
        const busy = inWork.get(subject);
        if (busy !== undefined && !mine.includes(busy)) faults.push(`${subject}: ${n} began beside ${busy}`);
      }
      for (const { subject, data } of events) inWork.set(subject, data.n as number);
    },
    end(events: readonly DomainEvent[], well: boolean): void {
      for (const { subject, data } of events) {
        inWork.delete(subject);
        if (well) done.set(subject, Math.max(done.get(subject) ?? 0, (data.n as number) + 1));
      }
    },
  };
}

/** Creates a handler that waits for random times and fails once at each selected event, and whose order is checked. */
function createWorker(referee: ReturnType<typeof createReferee>, failing: (event: DomainEvent) => boolean) {
  const failed = new Set<string>();
  return async (events: readonly DomainEvent[]): Promise<void> => {
    referee.begin(events);
    await dawdle(4);
    const bad = events.find((event) => failing(event) && !failed.has(event.id));
    if (bad !== undefined) failed.add(bad.id);
    referee.end(events, bad === undefined);
    if (bad !== undefined) throw new Error('fails the first time');
  };
}

const SUBJECTS = ['a', 'b', 'c', 'd', 'e'];

export function orderDuties(duty: Duties, use: () => Bench): void {
  for (const batch of [1, 8]) {
    duty(`events of a subject are handled in order although some fail, ${batch} per call`, () =>
      use().scene(async ({ bus, consumer, record, row }) => {
        const referee = createReferee();
        const rows = SUBJECTS.map((subject) => row(subject, 20));
        await record(
          { batch },
          createWorker(referee, ({ data }) => (data.n as number) % 6 === 3),
        );
        for (let n = 0; n < 20; n++) await bus.publish(rows.flatMap((events) => events.slice(n, n + 1)));
        await eventually(() => expect([...referee.done.values()]).toEqual([20, 20, 20, 20, 20]), 30_000);
        await settled(bus, consumer);
        expect(referee.faults).toEqual([]);
      }),
    );

    duty(`subscriptions with one name share the work and keep the order, ${batch} per call`, () =>
      use().scene(async ({ bus, consumer, record, row }) => {
        const referee = createReferee();
        const work = createWorker(referee, ({ data }) => data.n === 5);
        const buses = [bus, bus, await use().harness.another()];
        const recorders = [];
        for (const on of buses) recorders.push(await record({ batch }, work, on));
        const rows = SUBJECTS.map((subject) => row(subject, 30));
        await bus.publish(rows.flat());
        await eventually(() => expect([...referee.done.values()]).toEqual([30, 30, 30, 30, 30]), 30_000);
        await settled(bus, consumer);
        expect(referee.faults).toEqual([]);
        expect(recorders.flatMap(({ done }) => done)).toHaveLength(150);
      }),
    );
  }

  duty('events published together keep their order', () =>
    use().scene(async ({ bus, event, record }) => {
      const events = Array.from({ length: 400 }, (_, n) => event(`s${n % 3}`, { n }));
      const got = await record({ batch: 50 });
      await bus.publish(events);
      await eventually(() => expect(got.done).toHaveLength(400));
      for (const subject of ['s0', 's1', 's2']) {
        const mine = got.calls.flat().filter((seen) => seen.subject === subject);
        expect(mine.map(({ data }) => data.n)).toEqual(
          events.filter((sent) => sent.subject === subject).map(({ data }) => data.n),
        );
      }
    }),
  );
}
