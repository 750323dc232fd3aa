import { AppError, Unavailable } from '@commonplace/kit/errors';
import type { DomainEvent } from '@commonplace/kit/events';
import { newId } from '@commonplace/kit/id';
import { createEvent, eventually } from '@commonplace/kit/testing';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { type Position, type Relay, startRelay, type TracedBus } from '../../src/events/relay.js';
import { type MongoDatabase, openMongoDatabase } from '../../src/mongo/index.js';
import { openNatsBus } from '../../src/nats/index.js';
import { dropDatabases, mongoUrl, onServer } from '../../src/testing/index.js';
import { deleteStreams, natsUrl } from '../servers.js';

/** Creates a bus in memory that loses or refuses events as a test requires. */
function createListBus() {
  const list: DomainEvent[] = [];
  const fails = { next: 0, made: 1 };
  let reconnected = (): void => {};
  const absent = (): never => {
    throw new Error('not for this test');
  };
  const publishTraced = async (events: readonly DomainEvent[]): Promise<Position[]> => {
    if (events.some(({ data }) => data.refused === true)) throw new AppError('INVALID_ARGUMENT', 'too_large', 'no');
    return events.map((event) => {
      if (fails.next-- > 0) throw Unavailable();
      if (!list.some(({ id }) => id === event.id)) list.push(event);
      return { log: String(fails.made), seq: list.findIndex(({ id }) => id === event.id) + 1 };
    });
  };
  const bus: TracedBus = {
    publishTraced,
    publish: async (events) => void (await publishTraced(events)),
    holds: async ({ log, seq }, id) => log === String(fails.made) && list[seq - 1]?.id === id,
    onReconnect: (listener) => {
      reconnected = listener;
      return () => {};
    },
    subscribe: absent,
    watch: absent,
    broadcast: absent,
    listen: absent,
    lag: absent,
    consumers: absent,
    parkedConsumers: absent,
    parked: absent,
    parkedCount: absent,
    unpark: absent,
    dropParked: absent,
    close: async () => {},
  };
  return { bus, list, fails, reconnect: () => reconnected() };
}

function relaySuite(): void {
  const databasePrefix = `test_${newId().slice(-12)}_`;
  let database: MongoDatabase;
  let services = 0;
  const relays: Relay[] = [];
  const start = (service: string, bus: TracedBus): Relay => {
    const relay = startRelay({ outbox: database.outbox(service), bus, pollMs: 50 });
    relays.push(relay);
    return relay;
  };
  const commit = async (service: string, events: readonly DomainEvent[]): Promise<void> => {
    const unit = database.store(service).begin();
    for (const event of events) unit.publish(event);
    await unit.commit();
  };
  const row = (count: number): DomainEvent[] => Array.from({ length: count }, (_, n) => createEvent('a', { n }));
  const idsOf = (events: readonly DomainEvent[]): string[] => events.map(({ id }) => id);

  beforeAll(async () => {
    database = await openMongoDatabase({ url: mongoUrl, databasePrefix });
  });
  afterEach(async () => {
    await Promise.all(relays.splice(0).map((relay) => relay.close()));
  });
  afterAll(async () => {
    await database.close();
    await dropDatabases(databasePrefix);
  });

  test('publishes committed events, from before and after its start, in order', async () => {
    const service = `s${++services}`;
    const { bus, list } = createListBus();
    const events = row(600);
    await commit(service, events.slice(0, 300));
    start(service, bus);
    for (let at = 300; at < 600; at += 100) await commit(service, events.slice(at, at + 100));
    await eventually(() => expect(list).toHaveLength(600));
    expect(list).toEqual(events);
    await eventually(async () => expect(await database.outbox(service).backlog()).toMatchObject({ pending: 0 }));
  });

  test('continues in order after the bus was unavailable', async () => {
    const service = `s${++services}`;
    const { bus, list, fails } = createListBus();
    const events = row(30);
    fails.next = 3;
    start(service, bus);
    for (const event of events) await commit(service, [event]);
    fails.next = 2;
    await eventually(() => expect(idsOf(list)).toEqual(idsOf(events)));
  });

  test('sets aside what the bus refuses, and publishes the rest', async () => {
    const service = `s${++services}`;
    const { bus, list } = createListBus();
    const events = row(5).map((event, n) => ({ ...event, data: { n, refused: n === 2 } }));
    await commit(service, events);
    start(service, bus);
    await eventually(() => expect(idsOf(list)).toEqual(idsOf(events.filter((_, n) => n !== 2))));
    await eventually(async () => expect(await database.outbox(service).backlog()).toMatchObject({ pending: 0 }));
    expect(idsOf(await database.outbox(service).kept())).toEqual(idsOf(events));
  });

  test('one of several instances leads, and another one when it is gone', async () => {
    const service = `s${++services}`;
    const { bus, list } = createListBus();
    const counts = [0, 0];
    const [first, second] = counts.map((_, at) =>
      start(service, {
        ...bus,
        publishTraced: (events) => {
          counts[at] = (counts[at] ?? 0) + events.length;
          return bus.publishTraced(events);
        },
      }),
    );
    const events = row(20);
    for (const event of events.slice(0, 10)) await commit(service, [event]);
    await eventually(() => expect(list).toHaveLength(10));
    expect([...counts].sort((a, b) => a - b)).toEqual([0, 10]);
    await (counts[0] === 10 ? first : second)?.close();
    await commit(service, events.slice(10));
    await eventually(() => expect(idsOf(list)).toEqual(idsOf(events)));
    expect(counts).toEqual([10, 10]);
  });

  test('republishes what the bus has lost: its end, or all of it', async () => {
    const service = `s${++services}`;
    const { bus, list, fails, reconnect } = createListBus();
    const events = row(40);
    start(service, bus);
    const outbox = database.outbox(service);
    for (const part of [events.slice(0, 20), events.slice(20)]) {
      await commit(service, part);
      await eventually(async () => expect(await outbox.backlog()).toMatchObject({ pending: 0 }));
    }
    list.length = 33;
    reconnect();
    await eventually(() => expect(idsOf(list)).toEqual(idsOf(events)));
    await eventually(async () => expect(await outbox.backlog()).toMatchObject({ pending: 0 }));
    list.length = 0;
    fails.made++;
    reconnect();
    await eventually(() => expect(idsOf(list)).toEqual(idsOf(events)));
  });

  test('publishes committed events before it closes', async () => {
    const service = `s${++services}`;
    const { bus, list } = createListBus();
    const relay = start(service, bus);
    await commit(service, row(1));
    await eventually(() => expect(list).toHaveLength(1));
    await commit(service, row(10));
    await relay.close();
    expect(list).toHaveLength(11);
  });
}

/** Tests the path from a unit of work to a consumer over the real broker, which loses its streams meanwhile. */
function brokerSuite(): void {
  test('a consumer gets every event although the broker loses its streams', async () => {
    const name = newId().slice(-12);
    const database = await openMongoDatabase({ url: mongoUrl, databasePrefix: `test_${name}_` });
    const bus = await openNatsBus({ url: natsUrl, stream: `TEST_${name}` });
    const relay = startRelay({ outbox: database.outbox('s'), bus, checkMs: 100, pollMs: 50 });
    const seen: number[] = [];
    const subscription = await bus.subscribe({ consumer: 'c', types: ['commonplace.>'] }, async (events) => {
      seen.push(...events.map(({ data }) => data.n as number));
    });
    const commit = async (from: number, to: number): Promise<void> => {
      for (let n = from; n < to; n++) {
        const unit = database.store('s').begin();
        unit.publish(createEvent('a', { n }));
        await unit.commit();
      }
    };
    try {
      await commit(0, 20);
      await eventually(() => expect(seen).toHaveLength(20));
      await deleteStreams(`TEST_${name}`);
      await commit(20, 40);
      const all = Array.from({ length: 40 }, (_, n) => n);
      await eventually(() => expect([...new Set(seen)]).toEqual(all), 30_000);
      await eventually(() => expect(seen.slice(20)).toEqual(all), 30_000);
    } finally {
      await relay.close();
      await subscription.close();
      await bus.close();
      await database.close();
      await deleteStreams(`TEST_${name}`);
      await dropDatabases(`test_${name}_`);
    }
  });
}

onServer('COMMONPLACE_MONGODB_URL', () => {
  describe('relay from MongoDB', relaySuite);
  onServer('COMMONPLACE_NATS_URL', () => describe('relay to NATS', brokerSuite));
});
