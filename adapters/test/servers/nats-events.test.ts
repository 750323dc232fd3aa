import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Subscription } from '@commonplace/kit/events';
import { newId } from '@commonplace/kit/id';
import { createEvent, type EventsHarness, eventsContract, eventually } from '@commonplace/kit/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { TracedBus } from '../../src/events/outbox.js';
import { openNatsBus } from '../../src/nats/index.js';
import { onServer } from '../../src/testing/index.js';
import { deleteStreams, natsUrl as url } from '../servers.js';

async function openHarness(stream: string): Promise<EventsHarness> {
  const buses = [await openNatsBus({ url, stream })];
  const close = async (): Promise<void> => {
    await Promise.all(buses.map((bus) => bus.close()));
  };
  return {
    get bus() {
      return buses[0] as (typeof buses)[0];
    },
    another: async () => {
      const bus = await openNatsBus({ url, stream });
      buses.push(bus);
      return bus;
    },
    close: async () => {
      await close();
      await deleteStreams(stream);
    },
    reopen: async () => {
      await close();
      return openHarness(stream);
    },
  };
}

/** Tests that the events of a killed process are delivered. */
function killedSuite(): void {
  const stream = `TEST_${newId().slice(-12)}`;
  let bus: TracedBus;
  let seen: { subject: string; n: number }[] = [];
  const record = (consumer: string): Promise<Subscription> =>
    bus.subscribe({ consumer, types: ['commonplace.>'], maxAttempts: 1 }, async (events) => {
      seen.push(...events.map(({ subject, data }) => ({ subject, n: data.n as number })));
    });
  /** Starts an instance that stops at an event; resolves with its process when it has reached the event or exited. */
  const start = async (consumer: string, at: number, how: 'exit' | 'hang'): Promise<ChildProcess> => {
    const script = fileURLToPath(new URL('./nats-instance.js', import.meta.url));
    const child = fork(script, [url, stream, consumer, String(at), how]);
    await new Promise<void>((resolve) => {
      child.on('message', (message) => {
        if ((message as { n?: number }).n === at) resolve();
      });
      child.on('exit', () => resolve());
    });
    return child;
  };

  beforeAll(async () => {
    bus = await openNatsBus({ url, stream });
  });
  afterAll(async () => {
    await bus.close();
    await deleteStreams(stream);
  });

  test('hands its unfinished events to another process, in order and before later ones', async () => {
    const events = Array.from({ length: 40 }, (_, n) => createEvent(`s${n % 4}`, { n }));
    await bus.publish(events.slice(0, 30));
    const child = await start('killed', 9, 'hang');
    const takeover = await record('killed');
    child.kill('SIGKILL');
    await bus.publish(events.slice(30));
    // Its connection is closed, so that no instance waits for the silence timeout of 15 s.
    await eventually(async () => expect(await bus.lag('killed')).toBe(0));
    await takeover.close();
    const rest = Array.from({ length: 31 }, (_, n) => n + 9);
    expect(seen.map(({ n }) => n).sort((a, b) => a - b)).toEqual(rest);
    for (const subject of ['s0', 's1', 's2', 's3']) {
      const mine = seen.filter((one) => one.subject === subject).map(({ n }) => n);
      expect(mine).toEqual([...mine].sort((a, b) => a - b));
    }
  });

  test('an event that ends its process at each attempt is parked, and no other event is', async () => {
    seen = [];
    // The first attempt leaves no record; from the second on, each attempt is recorded before it is made.
    for (let run = 0; run < 2; run++) await start('ending', 1, 'exit');
    const last = await record('ending');
    await eventually(async () => expect(await bus.lag('ending')).toBe(0), 60_000);
    await last.close();
    expect((await bus.parked('ending')).map(({ event }) => event.data.n)).toEqual([1]);
    expect(seen.map(({ n }) => n).sort((a, b) => a - b)).toEqual(Array.from({ length: 38 }, (_, n) => n + 2));
  }, 180_000);
}

onServer('COMMONPLACE_NATS_URL', () => {
  eventsContract('NATS', () => openHarness(`TEST_${newId().slice(-12)}`));
  describe('a process on NATS that is killed', killedSuite);
});
