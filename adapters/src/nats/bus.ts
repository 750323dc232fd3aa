import { ConfigError } from '@commonplace/kit/config';
import type { Subscription } from '@commonplace/kit/events';
import { type Log, silentLog } from '@commonplace/kit/log';
import type { TracedBus } from '../events/outbox.js';
import { observeConsumer, observeHandler } from '../events/telemetry.js';
import { createBroadcasts } from './broadcast.js';
import { openConnection } from './connection.js';
import { calling, ifThere } from './errors.js';
import { createNames } from './names.js';
import { openOnceLinked } from './once-linked.js';
import { createParking } from './parking.js';
import { createPublisher } from './publisher.js';
import { openSubscription } from './subscription.js';
import { openWatch } from './watch.js';

interface NatsOptions {
  /** Comma-separated URLs: `nats://…`. */
  readonly url: string;
  readonly log?: Log;
  /** Name of the stream that stores the events; `COMMONPLACE` when absent. */
  readonly stream?: string;
  /** Number of replicas of each stream at its creation; 1 when absent. */
  readonly replicas?: number;
  /** Milliseconds of silence after which an instance is considered dead, at least 4000; 15,000 when absent. */
  readonly silenceMs?: number;
  /**
   * Called before anything is written to the streams or read from them. Rejects with ConfigError if they belong to
   * another installation. After any other error it is called again.
   */
  readonly verify?: () => Promise<void>;
}

/**
 * Connects to NATS (2.11 or later) with JetStream. Resolves when connected, or after 5 seconds without a connection: it
 * then keeps trying. Until it has one, publishing rejects with Unavailable, and subscriptions wait. Rejects with
 * ConfigError if `verify` does within these seconds.
 */
export async function openNatsBus(options: NatsOptions): Promise<TracedBus> {
  const { url, log = silentLog, stream, replicas = 1, silenceMs = 15_000, verify } = options;
  const names = createNames(stream);
  const connection = openConnection(url, { names, replicas, log, verify });
  const publisher = createPublisher(connection, names);
  const parking = createParking(connection, names);
  const broadcasts = createBroadcasts(connection, names, log);
  const open = new Set<Subscription>();
  const remember = async (opening: Promise<Subscription>, consumer?: string): Promise<Subscription> => {
    const subscription = await opening;
    open.add(subscription);
    const facts = (name: string) => ({ lag: () => bus.lag(name), parked: () => bus.parkedCount(name) });
    const unobserve = consumer === undefined ? () => {} : observeConsumer(consumer, facts(consumer));
    return {
      close: async () => {
        unobserve();
        await subscription.close();
        open.delete(subscription);
      },
    };
  };
  const rememberLate = (opening: () => Promise<Subscription>) => remember(openOnceLinked(connection, opening, log));
  await connection.link().catch(async (error) => {
    if (!(error instanceof ConfigError)) return;
    await connection.close();
    throw error;
  });
  const bus: TracedBus = {
    publish: async (events) => {
      await publisher.publish(events);
    },
    publishTraced: publisher.publish,
    holds: publisher.holds,
    onReconnect: connection.onReconnect,
    subscribe: (wanted, given) => {
      const handler = observeHandler('nats', wanted, given);
      const parts = { connection, names, parking, silenceMs, log };
      return remember(openSubscription({ ...parts, options: wanted, handler }), wanted.consumer);
    },
    watch: (types, handler) => rememberLate(() => openWatch(connection, names, types, handler, log)),
    broadcast: broadcasts.broadcast,
    listen: (topic, handler) => rememberLate(() => broadcasts.listen(topic, handler)),
    lag: (consumer) =>
      calling(async () => {
        const { jsm } = await connection.link();
        const info = await ifThere(jsm.consumers.info(names.stream, names.durable(consumer)));
        return info === undefined ? 0 : info.num_pending + info.num_ack_pending;
      }),
    consumers: parking.consumers,
    parkedConsumers: parking.parkedConsumers,
    parked: parking.parked,
    parkedCount: parking.count,
    unpark: parking.unpark,
    dropParked: parking.dropParked,
    close: async () => {
      await Promise.all([...open].map((subscription) => subscription.close()));
      await connection.close();
    },
  };
  return bus;
}
